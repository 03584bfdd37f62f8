"""Making locks: the digest and size of every artifact of a release."""
