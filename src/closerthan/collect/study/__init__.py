"""The description of a study: study.toml, stimuli, languages and recruiters."""
