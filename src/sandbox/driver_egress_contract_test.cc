// What every driver owes of a sandbox's way out: a listener that only the server has, and certificates to trust.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cctype>
#include <fstream>

#include "sandbox/driver_contract.h"

namespace sluice::sandbox {
namespace driver_egress_contract_test {

namespace fs = std::filesystem;

constexpr const char* certificates = "/etc/ssl/certs/ca-certificates.crt";

// Says a word to the door, tells that it did, and shows the answer.
Command knock(const std::string& word, uint16_t port = egress_port) {
  return {.argv = {"bash", "-c",
                   "exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(port) + " && echo " + word +
                       " >&3 && echo sent && read -r answer <&3 && echo \"$answer\""}};
}

OwnedFd accept_one(BoxStory& story, const OwnedFd& listener) {
  OwnedFd made;
  story.until(
      [&] {
        made = OwnedFd(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        return static_cast<bool>(made);
      },
      "a connection");
  return made;
}

bool has_waiting(const OwnedFd& listener) {
  const OwnedFd made(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  return static_cast<bool>(made);
}

std::string read_line(BoxStory& story, const OwnedFd& from) {
  std::string line;
  story.until(
      [&] {
        char c = 0;
        while (!line.ends_with('\n') && read(from.get(), &c, 1) == 1) line += c;
        return line.ends_with('\n');
      },
      "a line");
  return line;
}

void say(const OwnedFd& to, std::string_view words) {
  EXPECT_EQ(send(to.get(), words.data(), words.size(), MSG_NOSIGNAL), static_cast<ssize_t>(words.size()));
}

// Where there may be no program but the shim.
std::string contents(BoxStory& story, Box& box, const std::string& path) {
  const Ran ran = story.run(box, {.argv = {"@read", path, "1", "0"}});
  return ran.out + ran.err;
}

// Processes of this machine, as far as they may be looked into, that have the socket open.
int holders_of(const OwnedFd& socket) {
  struct stat status{};
  EXPECT_EQ(fstat(socket.get(), &status), 0);
  const std::string name = "socket:[" + std::to_string(status.st_ino) + "]";
  int found = 0;
  std::error_code gone;
  for (const auto& process : fs::directory_iterator("/proc", gone)) {
    if (!std::isdigit(process.path().filename().c_str()[0])) continue;  // "self" is one of the others
    std::error_code hidden;
    for (fs::directory_iterator at(process.path() / "fd", hidden), end; !hidden && at != end; at.increment(hidden)) {
      std::error_code closed;
      if (fs::read_symlink(at->path(), closed) == name) ++found;
    }
  }
  return found;
}

class EgressContract : public DriverContract {
 protected:
  EgressContract() {
    std::string pattern = fs::temp_directory_path() / "sluice-egress-XXXXXX";
    directory = mkdtemp(pattern.data());  // no other user may enter it: the file is seen in sandboxes all the same
    std::ofstream(directory / "bundle.pem") << "authorities\n";
  }
  ~EgressContract() override { fs::remove_all(directory); }

  SandboxOptions with_bundle() const {
    SandboxOptions chosen = options();
    chosen.ca_bundle_file = directory / "bundle.pem";
    return chosen;
  }
  // An image with these below it: "a/b/" is a directory, "a/b" a file, "a -> b" a link.
  SandboxOptions with_image(const std::vector<std::string>& entries) const {
    SandboxOptions chosen = with_bundle();
    chosen.root = directory / "image";
    for (const std::string& entry : entries) {
      const auto arrow = entry.find(" -> ");
      const fs::path path = fs::path(chosen.root) / entry.substr(0, arrow);
      fs::create_directories(path.parent_path());
      if (arrow != std::string::npos) {
        fs::create_symlink(entry.substr(arrow + 4), path);
      } else if (!entry.ends_with('/')) {
        std::ofstream(path) << "of the image\n";
      }
    }
    return chosen;
  }
  fs::path directory;
};

TEST_P(EgressContract, What_connects_inside_is_accepted_outside_and_bytes_flow_both_ways) {
  BoxStory story(options());
  const auto box = story.open();
  const OwnedFd listener = box->take_egress_listener();
  ASSERT_TRUE(listener);
  EXPECT_NE(fcntl(listener.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(fcntl(listener.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_FALSE(has_waiting(listener));
  Heard heard(story);
  const auto process = box->start(knock("ping"), heard);
  const OwnedFd connection = accept_one(story, listener);
  EXPECT_EQ(read_line(story, connection), "ping\n");
  say(connection, "pong\n");
  story.until([&] { return heard.exit.has_value(); }, "the answer");
  EXPECT_EQ(heard.out, "sent\npong\n") << heard.err;
}

TEST_P(EgressContract, Connections_wait_while_nobody_has_taken_the_listener) {
  BoxStory story(options());
  const auto box = story.open();
  Heard heard(story);
  const auto process = box->start(knock("early"), heard);
  story.until([&] { return heard.out == "sent\n"; }, "the command to have spoken");
  EXPECT_FALSE(heard.exit);
  const OwnedFd connection = accept_one(story, box->take_egress_listener());
  EXPECT_EQ(read_line(story, connection), "early\n");
  say(connection, "late\n");
  story.until([&] { return heard.exit.has_value(); }, "the answer");
  EXPECT_EQ(heard.out, "sent\nlate\n") << heard.err;
}

TEST_P(EgressContract, The_listener_is_given_once) {
  BoxStory story(options());
  const auto box = story.open();
  EXPECT_TRUE(box->take_egress_listener());
  EXPECT_FALSE(box->take_egress_listener());
  EXPECT_TRUE(box->take_bridge_listener());
  EXPECT_FALSE(box->take_bridge_listener());
}

TEST_P(EgressContract, The_bridge_is_a_door_of_its_own) {
  BoxStory story(options());
  const auto box = story.open();
  const OwnedFd way_out = box->take_egress_listener();
  const OwnedFd bridge = box->take_bridge_listener();
  ASSERT_TRUE(way_out && bridge);
  EXPECT_NE(fcntl(bridge.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(fcntl(bridge.get(), F_GETFD) & FD_CLOEXEC, 0);
  Heard heard(story);
  const auto process = box->start(knock("ping", bridge_port), heard);
  const OwnedFd connection = accept_one(story, bridge);
  EXPECT_EQ(read_line(story, connection), "ping\n");
  say(connection, "pong\n");
  story.until([&] { return heard.exit.has_value(); }, "the answer");
  EXPECT_EQ(heard.out, "sent\npong\n") << heard.err;
  EXPECT_FALSE(has_waiting(way_out));
}

// I-17: secrets are sent to the listener there, so only the server may be that.
TEST_P(EgressContract, Nobody_but_the_server_has_the_listener) {
  BoxStory story(options());
  const auto box = story.open();
  Heard heard(story);
  const auto process = box->start(sh("echo up; exec sleep 1000000.5"), heard);
  story.until([&] { return heard.out == "up\n"; }, "the command");
  const OwnedFd listener = box->take_egress_listener();
  const OwnedFd bridge = box->take_bridge_listener();
  ASSERT_TRUE(listener && bridge);
  EXPECT_EQ(holders_of(listener), 1) << "this test itself";
  EXPECT_EQ(holders_of(bridge), 1) << "this test itself";
  const OwnedFd second(fcntl(listener.get(), F_DUPFD_CLOEXEC, 0));
  EXPECT_EQ(holders_of(listener), 2) << "or the count counts nothing";
}

TEST_P(EgressContract, Each_box_has_a_listener_of_its_own) {
  BoxStory story(options());
  const auto one = story.open();
  const auto other = story.open();
  const OwnedFd listener = one->take_egress_listener();
  const OwnedFd others = other->take_egress_listener();
  ASSERT_TRUE(listener && others);
  Heard heard(story);
  const auto process = one->start(knock("mine"), heard);
  const OwnedFd connection = accept_one(story, listener);
  EXPECT_EQ(read_line(story, connection), "mine\n");
  EXPECT_FALSE(has_waiting(others));
}

TEST_P(EgressContract, A_killed_box_takes_its_listener_and_its_connections_along) {
  BoxStory story(options());
  const auto idle = story.open();
  story.kill(*idle);
  EXPECT_FALSE(idle->take_egress_listener());
  EXPECT_FALSE(idle->take_bridge_listener());

  const auto box = story.open();
  const OwnedFd listener = box->take_egress_listener();
  Heard heard(story);
  const auto process = box->start(knock("bye"), heard);
  const OwnedFd connection = accept_one(story, listener);
  EXPECT_EQ(read_line(story, connection), "bye\n");
  story.kill(*box);
  char c = 0;
  const ssize_t got = read(connection.get(), &c, 1);
  EXPECT_TRUE(got == 0 || (got < 0 && errno == ECONNRESET)) << "the other end is not gone";
  EXPECT_FALSE(has_waiting(listener));
}

TEST_P(EgressContract, The_certificate_bundle_lies_over_the_hosts_and_cannot_be_written_to) {
  BoxStory story(with_bundle());
  const auto box = story.open();
  const std::string path = certificates;
  EXPECT_EQ(story.run(*box, sh("cat " + path)).out, "authorities\n");
  const Ran spoilt = story.run(*box, sh("echo mine >" + path + " || rm -f " + path + " || mv /etc/ssl /etc/tls"));
  EXPECT_NE(spoilt.exit.code, 0);
  EXPECT_EQ(story.run(*box, sh("cat " + path)).out, "authorities\n");
  EXPECT_EQ(story.run(*story.open(), sh("cat " + path)).out, "authorities\n");
}

TEST_P(EgressContract, The_certificate_bundle_is_found_in_any_image) {
  const std::vector<std::vector<std::string>> images = {
      {"usr/"},
      {"etc/os-release"},
      {"etc/os-release", "etc/ssl/openssl.cnf", "etc/ssl/certs -> /pki/certs"},
      {"etc/os-release", "etc/ssl/certs/own.pem", "etc/ssl/certs/ca-certificates.crt -> /pki/bundle.crt"},
      {"etc/os-release", "etc/ssl/certs/own.pem", "etc/ssl/certs/ca-certificates.crt"}};
  for (const auto& entries : images) {
    const SandboxOptions image = with_image(entries);
    BoxStory story(image);
    const auto box = story.open();
    EXPECT_EQ(contents(story, *box, certificates), "authorities\n") << entries.back();
    for (const std::string& entry : entries) {
      if (entry.ends_with('/') || entry.find("certs -> ") != entry.npos || entry.find(".crt") != entry.npos) continue;
      EXPECT_EQ(contents(story, *box, "/" + entry), "of the image\n") << entry;
    }
    EXPECT_NE(story.run(*box, {.argv = {"@write", "/etc/ssl/certs/other.pem"}, .input = "x"}).exit.code, 0);
    fs::remove_all(image.root);
  }
}

INSTANTIATE_TEST_SUITE_P(, EgressContract, testing::ValuesIn(drivers_here()), driver_name);

}  // namespace driver_egress_contract_test
}  // namespace sluice::sandbox
