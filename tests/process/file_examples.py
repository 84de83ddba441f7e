"""Requests about files for test_openapi.py: each operation with the answers it may give."""
FILES, WORKSPACE = "/api/assistant/files", "/api/workspaces/{workspace}/files"
CHAT, NO_CHAT = "/api/assistant/chats/{chat}/files", "/api/assistant/chats/con_{none}/files"
TYPE = {"Content-Type": "multipart/form-data; boundary=edge"}


def form(name):
    return (f'--edge\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n1,2\r\n--edge--\r\n').encode()


def uploads(where):
    return [(where, form("a.csv"), 201, TYPE), (where, b"x", 400, TYPE), (where, {}, 415), (where, form("a.exe"), 422, TYPE)]


EXAMPLES = {
    "uploadFiles": uploads(FILES),
    "uploadChatFiles": uploads(CHAT) + [(NO_CHAT, form("a.csv"), 404, TYPE)],
    "listChatFiles": [(CHAT, None, 200), (CHAT + "?limit=0", None, 422), (NO_CHAT, None, 404)],
    "getChatFilesZip": [(CHAT + ".zip", None, 200), (NO_CHAT + ".zip", None, 404)],
    "getBagFile": [(FILES + "/{bag_file}", None, 200), (FILES + "/{bag_file}?inline=1", None, 200),
                   (FILES + "/{bag_file}?inline=x", None, 422), (FILES + "/fil_{none}", None, 404)],
    "deleteBagFile": [(FILES + "/{bag_file_to_delete}", None, 204), (FILES + "/{bag_file_to_delete}", None, 404)],
    "uploadWorkspaceFiles": uploads(WORKSPACE),
    "listWorkspaceFiles": [(WORKSPACE + "?limit=2", None, 200), (WORKSPACE + "?limit=0", None, 422)],
    "getWorkspaceFile": [(WORKSPACE + "/{bag_file}", None, 200), (WORKSPACE + "/fil_{none}", None, 404)],
    "getWorkspaceFileContent": [(WORKSPACE + "/{bag_file}/content", None, 200), (WORKSPACE + "/fil_{none}/content", None, 404)],
    "deleteWorkspaceFile": [(WORKSPACE + "/{bag_file_to_delete_too}", None, 204), (WORKSPACE + "/fil_{none}", None, 404)],
    "getSandboxFiles": [("/api/assistant/sandbox/{execution_sandbox}/files.zip", None, 404,
                         {"Authorization": "Bearer {bearer_sandbox}"})],
}


def make_files(test):
    """One to keep, and two to delete."""
    return {name: test.client.post(FILES, form("a.csv"), TYPE).json()["files"][0]["id"]
            for name in ("bag_file", "bag_file_to_delete", "bag_file_to_delete_too")}
