"""The tasks of the state machines ``job`` and ``fleet``: functions of a host and a typed request."""
