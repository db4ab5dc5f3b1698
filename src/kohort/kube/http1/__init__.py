"""An HTTP/1.1 client for one server, written for low CPU usage: requests and watches dominate the manager's CPU."""
