"""Readers of binary formats: facts, no judgement."""
