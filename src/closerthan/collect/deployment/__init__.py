"""Files with which a server of the reader's own runs a study: systemd, Docker, nginx and Caddy."""
