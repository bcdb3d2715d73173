"""What the scheduler knew about a job: model, strict builder, state table."""
