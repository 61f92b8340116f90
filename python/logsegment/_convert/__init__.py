"""Convert entries to other formats and codecs: `convert`."""
