"""Kueue: workloads of a Kubernetes cluster, with the JobSets, Jobs and Pods behind them."""
