"""Jobs of a Kubernetes cluster: Workloads of Kueue or PodGroups of KAI, with the JobSets, Jobs and Pods behind them."""
