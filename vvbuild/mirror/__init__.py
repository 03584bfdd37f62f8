"""Carrying what bundles are made from to a machine without a network."""
