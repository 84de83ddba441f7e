// Scripts in a real box, in each language that this machine has: Python at least.
#include <filesystem>

#include "runner/real_session_fixture.h"
#include "sessions/sessions.h"
#include "tools/script_fixture.h"
#include "tools/script_run.h"
#include "tools/script_tool.h"

namespace sluice::tools {
namespace script_real_test {

using namespace runner;

struct SilentSessionListener final : SessionListener {
  void on_session_question(egress::Question) override {}
  void on_session_failed(model::Slug, std::string detail) override { ADD_FAILURE() << detail; }
};

// H-7
class RealScript : public RealSession {
 protected:
  RealScript() {
    toolbox.list = {{.name = "crm__look-up"}, {.name = "say"}};
    toolbox.script = [](const models::ToolCall& made) {
      if (made.name == "say") return ToolAnswer{.text = "plain words"};
      return made.arguments == "{}" ? ToolAnswer{.text = "no such row", .failed = true}
                                    : ToolAnswer{.text = R"({"row":)" + made.arguments + "}"};
    };
    host.after_answer = [this] { reactor->stop(); };
  }
  ~RealScript() override {
    call.reset();
    session.reset();
  }

  void script(std::string_view language, std::string_view code, int64_t timeout_ms = 20'000) {
    host.events.clear();
    host.answer.reset();
    host.output.clear();
    if (!session) {
      shared.reset(new Host{.options = options.sessions,
                            .loop = *reactor,
                            .log = log,
                            .sandbox = sandbox.get(),
                            .watcher = watcher.get(),
                            .workers = workers.get(),
                            .kept_sandboxes = &kept});
      context.reset(new tools::Context{options, options.sessions, sign, *reactor, *reactor, *client});
      session = std::make_unique<SandboxSession>(*shared, *reactor, dispatch, SessionState(), output, silent);
    }
    std::string arguments;
    json::Writer writer(arguments);
    writer.begin_object().key("language").string(language).key("code").string(code);
    writer.key("timeout_ms").integer(timeout_ms).end_object();
    call = run_script(*context, dispatch, *session, toolbox, {"call-1", "run_script", arguments}, host);
    reactor->run();
    ASSERT_TRUE(host.answer);
  }
  void expect_failed(std::string_view words) const {
    EXPECT_TRUE(host.answer->failed);
    EXPECT_NE(host.answer->text.find(words), std::string::npos) << host.answer->text;
  }

  FakeToolbox toolbox{*reactor};
  SilentSessionListener silent;
  runs::EventOutput output{*reactor, nullptr, heard};
  HeardHost host;
  dispatch::Dispatch dispatch;
  KeptSandboxes kept;
  SignWebhook sign;
  std::unique_ptr<Host> shared;
  std::unique_ptr<tools::Context> context;
  std::unique_ptr<SandboxSession> session;
  std::unique_ptr<HostCall> call;
};

TEST_F(RealScript, In_Python_calls_tools_prints_and_returns) {
  script("python",
         "import sys, subprocess\n"
         "print('one'); print('two', end='')\n"
         "row = external_crm__look_up({'q': 'ü'})\n"
         "print(' and', external_say())\n"
         "sys.stderr.write('careful\\n')\n"
         "subprocess.run(['sh', '-c', 'echo from a child; cat'])\n"
         "try:\n"
         "  external_crm__look_up()\n"
         "except RuntimeError as error:\n"
         "  print('failed:', error)\n"
         "text = '''a\n"
         "b'''\n"
         "return {'row': row, 'named': external_crm__look_up(q=1), 'text': text}\n");
  EXPECT_FALSE(host.answer->failed) << host.answer->text;
  EXPECT_EQ(host.answer->text,
            R"({"success":true,"result":{"row":{"row":{"q":"ü"}},"named":{"row":{"q":1}},"text":"a\nb"},)"
            R"("logs":["one","two and plain words","error: careful","failed: no such row"]})");
  EXPECT_NE(host.output.find("from a child"), std::string::npos);
  EXPECT_EQ(host.all("external_call", "function"),
            "\"external_crm__look_up\"\n\"external_say\"\n\"external_crm__look_up\"\n\"external_crm__look_up\"");
  EXPECT_LT(host.names().find("console external_call"), host.names().find("external_error"));
}

TEST_F(RealScript, In_Python_fails_with_the_line_that_failed) {
  script("python", "x = 1\nraise ValueError('no good')");
  expect_failed("no good");
  expect_failed(R"(File \"script.py\", line 2)");
  script("python", "return (");
  expect_failed("SyntaxError");
  script("python", "return {1, 2}");
  expect_failed("not JSON serializable");
}

TEST_F(RealScript, In_Python_calls_from_many_threads) {
  script("python",
         "from concurrent.futures import ThreadPoolExecutor\n"
         "with ThreadPoolExecutor(8) as pool:\n"
         "  rows = list(pool.map(lambda q: external_crm__look_up(q=q)['row']['q'], range(40)))\n"
         "return sum(rows)\n");
  EXPECT_EQ(host.answer->text, R"({"success":true,"result":780,"logs":[]})");
}

TEST_F(RealScript, In_Python_is_bounded_in_time_and_memory) {
  script("python", "while True: pass", 300);
  expect_failed("it ran longer than 300 ms");
  script("python", "x = []\nwhile True: x.append('y' * 1000000)");
  expect_failed("more than 128 MiB of memory");
  script("python", "import os\nos._exit(4)");
  expect_failed("before it returned (exit code 4)");
}

// All of the above, where there is node: which is no part of a box, and not of every machine.
class RealJavaScript : public RealScript {
 protected:
  static bool has_node() { return std::filesystem::exists("/usr/bin/node"); }
};

TEST_F(RealJavaScript, Calls_tools_prints_and_returns_or_says_that_there_is_no_node) {
  script("javascript",
         "console.log('one %d', 1, {a: 2});\n"
         "const rows = await Promise.all([1, 2, 3].map((q) => external_crm__look_up({q})));\n"
         "console.warn(await external_say());\n"
         "require('child_process').spawnSync('sh', ['-c', 'echo from a child'], {stdio: 'inherit'});\n"
         "try { await external_crm__look_up(); } catch (error) { console.error('failed:', error.message); }\n"
         "const fs = await import('fs');\n"
         "return { rows: rows.map(({row}) => row.q), there: fs.existsSync('/workspace') }; // the end");
  if (!has_node()) return expect_failed("there is no node in this sandbox");
  EXPECT_EQ(host.answer->text, R"({"success":true,"result":{"rows":[1,2,3],"there":true},)"
                               R"("logs":["one 1 { a: 2 }","warn: plain words","error: failed: no such row"]})");
  EXPECT_NE(host.output.find("from a child"), std::string::npos);
}

TEST_F(RealJavaScript, Fails_with_the_line_that_failed_or_says_that_there_is_no_node) {
  const auto expect = [&](std::string_view code, std::string_view words, int64_t timeout_ms = 20'000) {
    script("javascript", code, timeout_ms);
    expect_failed(has_node() ? words : "there is no node in this sandbox");
  };
  expect("const x = 1;\nthrow new TypeError('no good');", "script.js:2");
  expect("return (;", "SyntaxError");
  expect("setTimeout(() => { throw new Error('later') }, 1);\nawait new Promise(() => {});", "later");
  expect("await new Promise(() => {});", "before it returned (exit code 0)");
  expect("const a = {}; a.a = a; return a;", "circular");
  expect("while (true);", "it ran longer than 500 ms", 500);
  expect("const x = []; while (true) x.push(new Array(100000).fill(Math.random()));", "more than 128 MiB of memory");
}

}  // namespace script_real_test
}  // namespace sluice::tools
