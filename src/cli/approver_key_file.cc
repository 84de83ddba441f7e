#include "cli/approver_key_file.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/bytes.h"
#include "base/json.h"

namespace sluice::cli {
namespace {

using model::SignatureAlgorithm;

constexpr std::size_t ed25519_key_bytes = 32;

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (!file) return Error{ErrorKind::invalid, path + " cannot be read"};
  return std::move(bytes).str();
}

// `get` is one of OpenSSL's two ways to the raw bytes.
template <typename Get>
Result<std::string> raw_bytes(const Key& key, Get get) {
  std::string raw(ed25519_key_bytes, '\0');
  std::size_t size = raw.size();
  const bool fits = key && EVP_PKEY_get_id(key.get()) == EVP_PKEY_ED25519 &&
                    get(key.get(), reinterpret_cast<unsigned char*>(raw.data()), &size) == 1;
  if (!fits || size != raw.size()) return Error{ErrorKind::invalid, "is not an Ed25519 key"};
  return raw;
}

// OpenSSL would ask for the password of an encrypted key; this callback refuses.
int no_password(char*, int, int, void*) { return -1; }

Key read_pem(std::string_view text, bool is_private) {
  const std::unique_ptr<BIO, FreeBio> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  return Key(is_private ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr)
                        : PEM_read_bio_PUBKEY(bio.get(), nullptr, no_password, nullptr));
}

bool is_pem(std::string_view text) { return text.find("-----BEGIN ") != std::string_view::npos; }

Result<ApproverKeyFile> key_of(json::Value object) {
  ApproverKeyFile out{.key_id = text_of(object, "key_id")};
  const auto algorithm = model::signature_algorithm_named(text_of(object, "algorithm"));
  if (!algorithm) return Error{ErrorKind::invalid, "has no algorithm: hmac-sha256 or ed25519"};
  out.algorithm = *algorithm;
  if (*algorithm == SignatureAlgorithm::hmac_sha256) {
    out.material = text_of(object, "secret");
    if (out.material.empty()) return Error{ErrorKind::invalid, "has no secret"};
    return out;
  }
  const auto raw = from_base64url(text_of(object, "private_key"));
  if (!raw || raw->size() != ed25519_key_bytes) {
    return Error{ErrorKind::invalid, "has no private_key of 32 bytes in base64url"};
  }
  out.material = *raw;
  return out;
}

Result<ApproverKeyFile> parse_key(std::string_view text) {
  if (is_pem(text)) {
    auto raw = raw_bytes(read_pem(text, true), EVP_PKEY_get_raw_private_key);
    if (!raw) return raw.error();
    return ApproverKeyFile{.algorithm = SignatureAlgorithm::ed25519, .material = std::move(raw).take()};
  }
  const auto document = json::Document::parse(text);
  if (!document) return Error{ErrorKind::invalid, "is neither JSON nor PEM"};
  const auto root = document.value().root();
  return key_of(root.find("approver_key").value_or(root));
}

Result<std::string> parse_public_key(std::string_view text) {
  if (is_pem(text)) {
    const auto raw = raw_bytes(read_pem(text, false), EVP_PKEY_get_raw_public_key);
    if (!raw) return Error{ErrorKind::invalid, "is not an Ed25519 public key"};
    return to_base64url(raw.value());
  }
  const auto document = json::Document::parse(text);
  auto key = document ? text_of(document.value().root(), "public_key") : std::string(text);
  while (key.ends_with('\n') || key.ends_with('\r')) key.pop_back();
  const auto raw = from_base64url(key);
  if (raw && raw->size() == ed25519_key_bytes) return key;
  return Error{ErrorKind::invalid, "has no Ed25519 public key: PEM, or 32 bytes in base64url"};
}

template <typename Parse>
auto read(const std::string& path, Parse parse) -> decltype(parse(std::string_view())) {
  auto text = read_text(path);
  if (!text) return text.error();
  auto parsed = parse(text.value());
  if (!parsed) return Error{ErrorKind::invalid, path + " " + parsed.error().what};
  return parsed;
}

}  // namespace

Result<ApproverKeyFile> read_approver_key(const std::string& path) { return read(path, parse_key); }
Result<std::string> read_public_key(const std::string& path) { return read(path, parse_public_key); }

Result<KeyPair> pair_of(std::string_view private_key) {
  const Key key(EVP_PKEY_new_raw_private_key(
      EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(private_key.data()), private_key.size()));
  auto public_key = raw_bytes(key, EVP_PKEY_get_raw_public_key);
  if (!public_key) return public_key.error();
  return KeyPair{std::string(private_key), std::move(public_key).take()};
}

Result<Unit> write_private_file(const std::string& path, std::string_view bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return Error{ErrorKind::invalid, path + " cannot be made: " + std::strerror(errno)};
  const bool written = write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) && fsync(fd) == 0;
  const int why = errno;
  close(fd);
  if (written) return Unit{};
  unlink(path.c_str());
  return Error{ErrorKind::invalid, path + " cannot be written: " + std::strerror(why)};
}

}  // namespace sluice::cli
