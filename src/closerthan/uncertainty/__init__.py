"""What can be believed of a map: replicates and what they say, people's quality, and whether the answers are enough."""
