"""Save the valid entries of damaged segments: `salvage`."""
