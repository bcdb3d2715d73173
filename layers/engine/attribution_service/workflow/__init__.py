"""What the state machines ask of the service: small typed requests in, pointers and counts out."""
