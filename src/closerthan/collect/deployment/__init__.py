"""Files for running a study on one's own server: systemd, Docker, nginx and Caddy."""
