#include "sessions/file_upload.h"

#include <utility>

#include "base/bytes.h"
#include "base/digest.h"

namespace sluice::sessions {
namespace {

constexpr int64_t write_ms_max = 120'000;
constexpr std::size_t words_chars_max = 500;

// It becomes the last part of a path.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

}  // namespace

FileUpload::FileUpload(const dispatch::Dispatch& dispatch, Needs needs, Start start, Callback<void(Result<Unit>)> done)
    : dispatch_(dispatch),
      workers_(needs.workers),
      start_(std::move(start)),
      done_(std::move(done)),
      file_work_(needs.loop, needs.check_ms_max) {
  needs.loop.defer([this, alive = lifeline_.watch()] {
    if (!alive.expired()) next();
  });
}

void FileUpload::next() {
  if (at_ == dispatch_.materials.files.size()) return finish(Unit{});
  const auto& file = dispatch_.materials.files[at_];
  if (!is_plain_name(file.name)) return fail("its name cannot be a file's");
  if (!dispatch_.supplies) return fail("there is nobody to get it from");
  dispatch_.supplies->file(file, [this, alive = lifeline_.watch()](Result<std::string> bytes) {
    if (alive.expired()) return;
    if (!bytes) return fail(bytes.error().what);
    check(std::move(bytes).take());
  });
}

void FileUpload::check(std::string bytes) {
  const auto shared = std::make_shared<std::string>(std::move(bytes));
  file_work_.send<bool>(
      workers_, "checking it",
      [shared, digest = dispatch_.materials.files[at_].sha256](const std::stop_token&) -> Result<bool> {
        return to_hex(sha256(*shared)) == digest;
      },
      [this, shared](Result<bool> is_it) {
        if (!is_it) return fail(is_it.error().what);
        if (!is_it.value()) return fail("it is not the one that was announced: the SHA-256 differs");
        write(std::move(*shared));
      });
}

void FileUpload::write(std::string bytes) {
  const auto path = std::string(attachments_directory) + "/" + dispatch_.materials.files[at_].name;
  command_ = start_({.argv = {"@write", path}, .input = std::move(bytes), .timeout_ms = write_ms_max}, *this);
}

void FileUpload::on_ended(sandbox::Exit exit, std::string printed) {
  if (exit.cause != sandbox::ExitCause::exited) return fail(exit.what.empty() ? "the sandbox is gone" : exit.what);
  if (exit.code != 0) return fail(printed.substr(0, words_chars_max));
  ++at_;
  next();
}

void FileUpload::fail(const std::string& why) {
  finish(Error{ErrorKind::unavailable, "The file \"" + dispatch_.materials.files[at_].name +
                                           "\" cannot be put into the sandbox: " + why + "."});
}

// The callback may drop this.
void FileUpload::finish(Result<Unit> result) {
  auto done = std::move(done_);
  done(std::move(result));
}

}  // namespace sluice::sessions
