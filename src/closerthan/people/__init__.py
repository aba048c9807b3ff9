"""People: who answered, and how. Quality of answers, lapses, and groups of people with maps of their own."""
