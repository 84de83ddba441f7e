"""nginx, twice: as the host that is asked, and as a hop before it, in the place where the proxy stands."""
import os
import pathlib
import shutil
import socket
import subprocess
import time

from contender import cpu_seconds_of

BODY_MIB = 512
SECRET = "bench-s3cret-0123456789-abcdef"

CONFIG = """
worker_processes 1;
daemon off;
pid {home}/{name}.pid;
error_log {home}/{name}.log warn;
{user}
events {{ worker_connections 1024; }}
http {{
  access_log off;
  sendfile on;
  keepalive_requests 10000000;
  client_body_temp_path {home}/tmp; proxy_temp_path {home}/tmp; fastcgi_temp_path {home}/tmp;
  uwsgi_temp_path {home}/tmp; scgi_temp_path {home}/tmp;
  ssl_certificate {home}/cert.pem;
  ssl_certificate_key {home}/key.pem;
{body}
}}
"""

# A request that does not carry the secret is refused, so that nobody measures a proxy that puts none in.
ORIGIN = """
  server {{
    listen 127.0.0.1:{plain}; listen 127.0.0.1:{tls} ssl;
    root {home}/www;
    location /small {{ return 200 "small"; }}
    location /secret {{ if ($http_authorization != "Bearer {secret}") {{ return 403; }} return 200 "small"; }}
  }}
"""

# As good as nginx gets at passing on what comes as it comes.
HOP = """
  upstream plain {{ server 127.0.0.1:{plain}; keepalive 16; }}
  upstream tls {{ server 127.0.0.1:{tls}; keepalive 16; }}
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; proxy_buffer_size 64k;
  proxy_buffers 8 64k;
  proxy_ssl_trusted_certificate {home}/cert.pem; proxy_ssl_verify on; proxy_ssl_name h0.bench.test;
  server {{ listen 127.0.0.1:{hop_plain}; location / {{ proxy_pass http://plain; }} }}
  server {{ listen 127.0.0.1:{hop_tls} ssl; location / {{ proxy_pass https://tls; }} }}
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Origin:
    def __init__(self, home, body_mib):
        self.home, self.processes = home, {}
        self.plain, self.tls, self.hop_plain, self.hop_tls = free_ports(4)
        (home / "tmp").mkdir()
        (home / "www").mkdir()
        self.make_body(body_mib)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", home / "key.pem", "-out", home / "cert.pem", "-days", "2", "-subj",
                        "/CN=bench.test", "-addext", "subjectAltName=DNS:*.bench.test"], check=True, capture_output=True)
        for name, text in (("origin", ORIGIN), ("hop", HOP)):
            self.start(name, text)

    def make_body(self, mib):
        """Words and numbers that do not repeat within a window: what scrubbing has to look through."""
        block = os.urandom(1 << 19).hex().encode()
        with open(self.home / "www" / "body", "wb") as out:
            for _ in range(mib):
                out.write(block)

    def start(self, name, text):
        body = text.format(home=self.home, secret=SECRET, plain=self.plain, tls=self.tls, hop_plain=self.hop_plain,
                           hop_tls=self.hop_tls)
        user = "user root;" if os.getuid() == 0 else ""
        config = self.home / f"{name}.conf"
        config.write_text(CONFIG.format(home=self.home, name=name, user=user, body=body))
        nginx = shutil.which("nginx") or "/usr/sbin/nginx"
        self.processes[name] = subprocess.Popen([nginx, "-p", self.home, "-c", config], stderr=subprocess.DEVNULL)
        self.wait_for(name)

    def wait_for(self, name):
        port, deadline = {"origin": self.tls, "hop": self.hop_tls}[name], time.monotonic() + 10
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port)).close()
            except ConnectionRefusedError:
                if time.monotonic() > deadline or self.processes[name].poll() is not None:
                    raise SystemExit(f"nginx does not start: {(self.home / (name + '.log')).read_text()}") from None
                time.sleep(0.02)

    def hop_cpu_seconds(self):
        """Of the hop's worker; the master does nothing."""
        pid = self.processes["hop"].pid
        workers = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return sum(cpu_seconds_of(worker) for worker in workers)

    def stop(self):
        for process in self.processes.values():
            process.terminate()
            process.wait()
