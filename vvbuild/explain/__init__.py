"""What a rule, an error code or a version of a component means, and where that can be read."""
