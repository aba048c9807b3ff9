"""The web server of a study: participants' requests, the researcher's page, and static files."""
