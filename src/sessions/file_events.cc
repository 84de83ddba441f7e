#include "sessions/file_events.h"

#include <cstddef>
#include <utility>

#include "sessions/file_notifier.h"

namespace sluice::sessions {

using workspace::FileNews;

namespace {

// A long path takes the room of several short ones.
constexpr std::size_t path_bytes = 256;
int64_t weight_of(const FileNews& news) { return 1 + static_cast<int64_t>(news.path.size() / path_bytes); }

}  // namespace

// Leaves in `news` what is reported by itself, and counts the rest.
void FileEvents::trim(std::vector<FileNews>& news) {
  std::size_t kept = 0;
  while (kept < news.size() && single_left_ > 0) single_left_ -= weight_of(news[kept++]);
  counted_ += static_cast<int64_t>(news.size() - kept);
  news.erase(news.begin() + static_cast<std::ptrdiff_t>(kept), news.end());
}

void FileEvents::report(std::vector<FileNews> news) {
  trim(news);
  if (counted_ > 0 && !std::exchange(is_rest_due_, true)) {
    rest_timer_ = core_.clock.after({core_.host.options.file_sum_ms}, [this] { report_rest(); });
  }
  for (auto& piece : news) piece.path = runs::scrubbed(core_.dispatch.secrets, std::move(piece.path));
  if (core_.host.file_notifier) core_.host.file_notifier->notify(core_.dispatch.run, news, core_.clock.now());
  for (const auto& piece : news) {
    const bool is_overflow = piece.kind == FileNews::Kind::overflow;
    if (!(is_overflow ? core_.emit(runs::overflow_event()) : core_.emit(runs::file_event(piece, core_.clock.now()))))
      return;
  }
}

bool FileEvents::report_rest() {
  is_rest_due_ = false;
  rest_timer_.cancel();
  if (counted_ == 0) return true;
  const std::vector<FileNews> overflow = {{.kind = FileNews::Kind::overflow}};
  if (core_.host.file_notifier) core_.host.file_notifier->notify(core_.dispatch.run, overflow, core_.clock.now());
  return core_.emit(runs::more_files_event(std::exchange(counted_, 0)));
}

}  // namespace sluice::sessions
