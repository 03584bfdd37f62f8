"""Whether the pins of a release fit together."""
