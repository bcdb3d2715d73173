"""What touches the world: schedulers, logs, metrics, the service and sinks; one sub-package a framework."""
