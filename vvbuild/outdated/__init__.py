"""Newer pins for a release, as far as the policy lets them move."""
