"""A cluster for pytest. `ORLOP` is the command that starts Orlop: `npx orlop` by default."""

import json
import os
import re
import shlex
import subprocess

import pytest


@pytest.fixture(scope="session")
def kubectl(tmp_path_factory):
    """A function that calls kubectl in a cluster with three simulated nodes, which ends with the tests."""
    command = shlex.split(os.environ.get("ORLOP", "npx orlop"))
    flags = ["--data-dir", str(tmp_path_factory.mktemp("cluster")), "--store", "memory", "--port", "0", "--nodes", "3"]
    server = subprocess.Popen([*command, "server", *flags], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    text = ""
    while "KUBECONFIG=" not in text:
        line = server.stdout.readline()
        assert line, "the server ended: " + text
        text += line
    kubeconfig = re.search(r"KUBECONFIG=(.*)", text).group(1)

    def call(*args):
        return subprocess.run(
            ["kubectl", "--kubeconfig", kubeconfig, *args], check=True, capture_output=True, text=True
        ).stdout

    yield call
    server.terminate()
    server.wait(timeout=30)


def test_three_replicas_become_ready(kubectl):
    kubectl("create", "deployment", "web", "--image=web:1", "--replicas=3")
    kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=60s")

    pods = json.loads(kubectl("get", "pods", "-l", "app=web", "-o", "json"))["items"]
    assert len({pod["spec"]["nodeName"] for pod in pods}) == 3
