"""nginx as the floor for bytes: it answers each message with the same file of fifty events, and stores nothing."""
import json

from peers.peer import HandMade, debian_bytes, debian_version, free_port, need_debian, wait_until_open

CONFIGURATION = """daemon off; master_process off; pid {home}/nginx.pid; error_log stderr error;
events {{ worker_connections 20000; }}
http {{
  access_log off; keepalive_requests 100000000;
  client_body_temp_path {home}/body; proxy_temp_path {home}/proxy; fastcgi_temp_path {home}/fastcgi;
  uwsgi_temp_path {home}/uwsgi; scgi_temp_path {home}/scgi;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    root {home};
    location = /v1/conversations {{ default_type application/json; return 201 '{{"id":"floor"}}'; }}
    location ~ /messages$ {{ error_page 405 =200 /stream; return 405; }}
    location = /stream {{ default_type application/x-ndjson; open_file_cache max=10; }}
  }}
}}
"""


class Nginx(HandMade):
    name = "nginx (floor)"
    listening = None
    paced = holds = remembers = False
    note = "a static file instead of an agent: what the bytes alone cost"

    def launch(self):
        self.port = free_port()
        event = {"object": "conversation.event", "conversation_id": "con_0123456789abcdef0123456789",
                 "message_id": "msg_0123456789abcdef0123456789", "created_at": "2026-07-02T10:00:01.123Z"}
        kinds = ["message_start", *["content_delta"] * 50, "message_end"]
        lines = [json.dumps({"type": kind, **event, "seq": seq, "data": {"text": f"w{seq} "}}) for seq, kind in enumerate(kinds)]
        (self.home / "stream").write_text("\n".join(lines) + "\n")
        (self.home / "nginx.conf").write_text(CONFIGURATION.format(home=self.home, port=self.port))
        super().launch()
        wait_until_open(self.port, self.process)

    def command(self):
        return ["/usr/sbin/nginx", "-c", self.home / "nginx.conf", "-p", self.home]

    def install(self):
        need_debian("nginx-light")

    def version(self):
        return debian_version("nginx-light")

    def installed_bytes(self):
        return debian_bytes("nginx-light")
