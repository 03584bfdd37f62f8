"""What this machine is, has and can do."""
