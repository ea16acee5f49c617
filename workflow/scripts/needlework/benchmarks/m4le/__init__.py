"""M4LE: 36 data sets, eleven task types, five abilities, in English and Chinese."""
