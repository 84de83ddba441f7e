"""Requests to the Assistant for test_openapi.py: each operation with the answers it may give."""
STREAM = "/api/assistant/chat/stream"
CHAT = "/api/assistant/chats/{chat}"
NO_CHAT = "/api/assistant/chats/con_{none}"

EXAMPLES = {
    "sendChatTurn": [
        (STREAM, {"message": "say the first turn"}, 200),
        (STREAM, lambda things: {"message": "say half\ncut", "chatId": things["chat"], "onDisconnect": "keep"}, 200),
        (STREAM, b"{", 400),
        (STREAM, {"message": "x", "chatId": "con_" + "0" * 25 + "1"}, 404),
        (STREAM, lambda things: {"message": "x", "chatId": things["chat_running"]}, 409),
        (STREAM, {"message": "x" * 5_000_000}, 413),
        (STREAM, {"message": "x"}, 415, {"Content-Type": "text/plain"}),
        (STREAM, {}, 422),
        (STREAM, {"message": "x", "sandboxUrl": "http://169.254.169.254"}, 422)],
    "followChatTurn": [
        (STREAM + "?streamId={chat_stream}", None, 200),
        (STREAM + "?streamId={chat_stream}&after=0", None, 200),
        (STREAM + "?streamId={chat_stream}", None, 204, {"Last-Event-ID": "3"}),
        (STREAM + "?streamId=run_{none}", None, 404),
        (STREAM, None, 422)],
    "listChats": [
        ("/api/assistant/chats?limit=2", None, 200),
        ("/api/assistant/chats?limit=0", None, 422)],
    "getChat": [
        (CHAT, None, 200),
        ("/api/assistant/chats/{chat_running}", None, 200),
        (NO_CHAT, None, 404),
        (CHAT + "?before=x", None, 422)],
    "renameChat": [
        (CHAT, {"title": "Figures"}, 200),
        (CHAT, b"{", 400),
        (NO_CHAT, {"title": "x"}, 404),
        (CHAT, {"title": "x"}, 415, {"Content-Type": "text/plain"}),
        (CHAT, {}, 422)],
    "stopChat": [
        ("/api/assistant/chats/{chat_running}/stop", None, 200),
        (NO_CHAT + "/stop", None, 404),
        (CHAT + "/stop", None, 409)],
    "deleteChat": [
        ("/api/assistant/chats/{chat_to_delete}", None, 204),
        (NO_CHAT, None, 404)],
}


def make_chats(test):
    """A chat that rests, one that works, and one to delete."""
    things = {}
    for name, words in (("chat", "say x"), ("chat_to_delete", "say x"), ("chat_running", "hang")):
        answer = test.client.open("POST", STREAM, {"message": words, "onDisconnect": "keep"})
        with answer.connection:
            things[name] = answer.header("x-chat-id")
            if name == "chat":
                things["chat_stream"] = answer.header("x-stream-id")
            if words != "hang":
                assert answer.body.endswith(b"event: done\ndata: {}\n\n"), answer.body
    return things
