"""The study server: requests, pages, and the researcher's view."""
