#include "tools/script_tool.h"

namespace sluice::tools {

constinit const std::string_view javascript_prelude = R"js('use strict';
(() => {
  const fs = require('fs');
  const util = require('util');
  const vm = require('vm');

  const whole = (_, value) => (typeof value === 'string' ? value.toWellFormed?.() ?? value : value);
  const say = (message) => {
    const bytes = Buffer.from(JSON.stringify(message, whole) + '\n');
    for (let at = 0; at < bytes.length; ) at += fs.writeSync(4, bytes, at);
  };
  const levels = { log: 'log', debug: 'log', info: 'info', warn: 'warn', error: 'error' };
  for (const [name, level] of Object.entries(levels)) {
    console[name] = (...words) => say({ console: { level, message: util.format(...words) } });
  }

  const end = (message) => {
    say(message);
    process.exit(0);
  };
  const fail = (error) => {
    const stack = String(error?.stack ?? '').split('\n');
    end({ error: {
      name: String(error?.name ?? 'Error'),
      message: String(error?.message ?? util.format(error)),
      stack: stack.filter((line) => !/\[eval\]|node:/.test(line)).join('\n'),
    } });
  };
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);

  const parsed = (text) => {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  };
  const waiting = new Map();
  let last = 0;
  const call = (name, args = {}) => new Promise((resolve, reject) => {
    const id = ++last;
    say({ call: { id, name, args } });
    waiting.set(id, { resolve, reject });
    channel.ref();
  });
  const answer = ({ id, text, failed }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (waiting.size === 0) channel.unref();
    failed ? reject(new Error(text)) : resolve(parsed(text));
  };
  const run = async ({ code, functions }) => {
    for (const [name, tool] of Object.entries(functions)) globalThis[name] = (args) => call(tool, args);
    try {
      const body = vm.runInThisContext(`(async () => {\n${code}\n})`, {
        filename: 'script.js',
        lineOffset: -1,
        importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      });
      const value = await body();
      end({ result: JSON.stringify(value) === undefined ? null : value });
    } catch (error) {
      fail(error);
    }
  };

  const channel = new (require('net').Socket)({ fd: 3, readable: true, writable: false });
  let held = '';
  channel.setEncoding('utf8');
  channel.on('data', (piece) => {
    const lines = (held + piece).split('\n');
    held = lines.pop();
    for (const message of lines.map((line) => JSON.parse(line))) {
      if ('code' in message) {
        channel.unref();
        run(message);
      } else {
        answer(message);
      }
    }
  });
})();
)js";

// The code is made the body of a function as a syntax tree: indenting its text would change its strings.
constinit const std::string_view python_prelude = R"py(
def main():
    import ast, io, json, os, sys, threading, traceback

    saying = threading.Lock()

    def say(message):
        text = json.dumps(message, ensure_ascii=False, allow_nan=False) + '\n'
        data = memoryview(text.encode('utf-8', 'replace'))
        with saying:
            while data:
                data = data[os.write(4, data):]

    class Console(io.TextIOBase):
        def __init__(self, level):
            self.level, self.held = level, ''

        def writable(self):
            return True

        def write(self, text):
            *lines, self.held = (self.held + text).split('\n')
            for line in lines:
                say({'console': {'level': self.level, 'message': line}})
            return len(text)

        def end(self):
            if self.held:
                self.write('\n')

    waiting = {}
    counting = threading.Lock()

    def call(name, args):
        waiter = [threading.Event(), None]
        with counting:
            number = len(waiting) + 1
            waiting[number] = waiter
        say({'call': {'id': number, 'name': name, 'args': args}})
        waiter[0].wait()
        text, failed = waiter[1]['text'], waiter[1]['failed']
        if failed:
            raise RuntimeError(text)
        try:
            return json.loads(text)
        except ValueError:
            return text

    def function(name):
        def external(args=None, **named):
            if named:
                args = {**(args or {}), **named}
            return call(name, {} if args is None else args)
        return external

    def listen(lines):
        for line in lines:
            message = json.loads(line)
            waiter = waiting[message['id']]
            waiter[1] = message
            waiter[0].set()

    def run(code, functions):
        tree = ast.parse('def script(): pass')
        tree.body[0].body = ast.parse(code, 'script.py').body or tree.body[0].body
        scope = {'__name__': 'script', **{name: function(tool) for name, tool in functions.items()}}
        exec(compile(tree, 'script.py', 'exec'), scope)
        return scope['script']()

    lines = open(3, encoding='utf-8')
    task = json.loads(lines.readline())
    sys.stdout, sys.stderr = Console('log'), Console('error')
    threading.Thread(target=listen, args=(lines,), daemon=True).start()
    import resource
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (task['memory_bytes'], most))
        value = run(task['code'], task['functions'])
        last = {'result': value}
        json.dumps(last, allow_nan=False)
    except BaseException as error:
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))  # to tell of it takes memory too
        frames = ''.join(traceback.format_exception(type(error), error, error.__traceback__))
        own = frames.find('  File "script.py"')
        last = {'error': {
            'name': type(error).__name__,
            'message': str(error),
            'stack': frames[own:] if own >= 0 else '',
        }}
    sys.stdout.end()
    sys.stderr.end()
    say(last)
    os._exit(0)


main()
)py";

}  // namespace sluice::tools
