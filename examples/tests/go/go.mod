module example.com/rollout

go 1.22
