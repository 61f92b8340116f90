"""Inputs of verbs: sources go in, their segments come out; and the observers of verbs."""
