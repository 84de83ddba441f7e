#include "base/time.h"

#include <charconv>
#include <chrono>

namespace sluice {
namespace {

void put_digits(char* at, int64_t value, int width) {
  for (int i = width - 1; i >= 0; --i, value /= 10) at[i] = static_cast<char>('0' + value % 10);
}

std::optional<int> read_digits(std::string_view text, std::size_t from, std::size_t width) {
  int value = 0;
  const char* first = text.data() + from;
  const auto [end, failed] = std::from_chars(first, first + width, value);
  if (failed != std::errc{} || end != first + width || *first == '-') return std::nullopt;
  return value;
}

}  // namespace

void append_rfc3339(std::string& out, Timestamp at) {
  using namespace std::chrono;
  const sys_time<milliseconds> moment{milliseconds{at.ms}};
  const auto day = floor<days>(moment);
  const year_month_day date{day};
  const hh_mm_ss clock{moment - day};

  char text[] = "0000-00-00T00:00:00.000Z";
  put_digits(text, static_cast<int>(date.year()), 4);
  put_digits(text + 5, static_cast<unsigned>(date.month()), 2);
  put_digits(text + 8, static_cast<unsigned>(date.day()), 2);
  put_digits(text + 11, clock.hours().count(), 2);
  put_digits(text + 14, clock.minutes().count(), 2);
  put_digits(text + 17, clock.seconds().count(), 2);
  put_digits(text + 20, clock.subseconds().count(), 3);
  out.append(text, sizeof text - 1);
}

std::string to_rfc3339(Timestamp at) {
  std::string out;
  append_rfc3339(out, at);
  return out;
}

std::optional<Timestamp> from_rfc3339(std::string_view text) {
  using namespace std::chrono;
  if (text.size() != 20 && text.size() != 24) return std::nullopt;
  const bool has_millis = text.size() == 24;
  if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':') return std::nullopt;
  if (text.back() != 'Z' || (has_millis && text[19] != '.')) return std::nullopt;

  const auto year_number = read_digits(text, 0, 4);
  const auto month_number = read_digits(text, 5, 2);
  const auto day_number = read_digits(text, 8, 2);
  const auto hour = read_digits(text, 11, 2);
  const auto minute = read_digits(text, 14, 2);
  const auto second = read_digits(text, 17, 2);
  const auto millis = has_millis ? read_digits(text, 20, 3) : std::optional<int>(0);
  if (!year_number || !month_number || !day_number || !hour || !minute || !second || !millis) return std::nullopt;

  const year_month_day date{year{*year_number}, month{static_cast<unsigned>(*month_number)},
                            day{static_cast<unsigned>(*day_number)}};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  const auto moment = sys_days{date} + hours{*hour} + minutes{*minute} + seconds{*second} + milliseconds{*millis};
  return Timestamp{duration_cast<milliseconds>(moment.time_since_epoch()).count()};
}

}  // namespace sluice
