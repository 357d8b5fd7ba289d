// A cluster for Go's tests. ORLOP is the command that starts Orlop: "npx orlop" by default.
package rollout

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// startCluster starts a cluster with three simulated nodes, which ends with the test, and returns its kubeconfig.
func startCluster(t *testing.T) string {
	t.Helper()
	command := os.Getenv("ORLOP")
	if command == "" {
		command = "npx orlop"
	}
	words := append(strings.Fields(command), "server", "--data-dir", t.TempDir(), "--store", "memory", "--port", "0", "--nodes", "3")
	server := exec.Command(words[0], words[1:]...)
	output, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if _, path, found := strings.Cut(lines.Text(), "KUBECONFIG="); found {
			return path
		}
	}
	t.Fatal("the server ended before it served")
	return ""
}

func TestThreeReplicasBecomeReady(t *testing.T) {
	kubeconfig := startCluster(t)
	kubectl := func(args ...string) string {
		t.Helper()
		text, err := exec.Command("kubectl", append([]string{"--kubeconfig", kubeconfig}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %v: %v\n%s", args, err, text)
		}
		return string(text)
	}

	kubectl("create", "deployment", "web", "--image=web:1", "--replicas=3")
	kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=60s")

	nodes := map[string]bool{}
	for _, node := range strings.Fields(kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}")) {
		nodes[node] = true
	}
	if len(nodes) != 3 {
		t.Fatalf("the pods are on %v", nodes)
	}
}
