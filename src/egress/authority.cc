#include "egress/authority.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "base/fd.h"

namespace sluice::egress {
namespace {

constexpr int64_t authority_days = 3650;
constexpr int64_t leaf_days = 7;
constexpr int64_t renew_after_us = 3LL * 24 * 3600 * 1'000'000;  // well before a leaf expires
constexpr std::size_t leaves_max = 1024;
constexpr std::array<const char*, 4> system_bundles = {"/etc/ssl/certs/ca-certificates.crt",
                                                       "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                                       "/etc/ssl/cert.pem"};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  if (in) out << in.rdbuf();
  return std::move(out).str();
}

Error file_error(std::string_view doing, const std::string& path) {
  return {ErrorKind::unavailable, std::string(doing) + " " + path + ": " + std::strerror(errno)};
}

// A reader sees the old file or the whole of this one.
Result<Unit> write_file(const std::string& path, std::string_view text, mode_t mode) {
  const std::string draft = path + "." + std::to_string(getpid());
  unlink(draft.c_str());
  OwnedFd fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd) return file_error("cannot write", draft);
  while (!text.empty()) {
    const ssize_t written = write(fd.get(), text.data(), text.size());
    if (written < 0) return file_error("cannot write", draft);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fsync(fd.get()) != 0 || rename(draft.c_str(), path.c_str()) != 0) return file_error("cannot write", path);
  return Unit{};
}

template <typename Write>
std::string to_pem(Write write) {
  const OpenSslPtr<BIO> bio(BIO_new(BIO_s_mem()));
  SLUICE_CHECK(bio != nullptr && write(bio.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* certificate) {
  return to_pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

std::string pem_of(EVP_PKEY* key) {
  return to_pem(
      [&](BIO* bio) { return PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const OpenSslPtr<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  SLUICE_CHECK(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1);
}

OpenSslPtr<EVP_PKEY> fresh_key() {
  OpenSslPtr<EVP_PKEY> key(EVP_EC_gen("P-256"));
  SLUICE_CHECK(key != nullptr);
  return key;
}

}  // namespace

Result<std::unique_ptr<Authority>> Authority::open(const std::string& directory, const std::string& upstream_ca_file,
                                                   const world::Loop& loop, world::Entropy& entropy,
                                                   world::Histogram& mint_time) {
  std::unique_ptr<Authority> out(new Authority(loop, entropy, mint_time));
  out->leaf_key_ = fresh_key();
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!error) std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
  if (error) return Error{ErrorKind::unavailable, "cannot make the directory " + directory + ": " + error.message()};
  // The key is written first: a key without a certificate is a making that a crash cut short.
  const bool made = std::filesystem::exists(directory + "/ca.pem", error);
  if (auto done = made ? out->load(directory) : out->make(directory); !done) return done.error();
  if (auto done = out->write_bundle(directory, upstream_ca_file); !done) return done.error();
  return out;
}

Result<Unit> Authority::load(const std::string& directory) {
  const std::string key_file = directory + "/ca.key";
  struct stat about{};
  if (stat(key_file.c_str(), &about) != 0) return file_error("cannot read", key_file);
  if ((about.st_mode & 077) != 0) {
    return Error{ErrorKind::invalid, "others can read the authority's key " + key_file + "; say chmod 600, or remove " +
                                         "ca.key and ca.pem to have them made anew"};
  }
  const std::string key_text = read_file(key_file);
  const std::string certificate_text = read_file(directory + "/ca.pem");
  const OpenSslPtr<BIO> key_bio(BIO_new_mem_buf(key_text.data(), static_cast<int>(key_text.size())));
  const OpenSslPtr<BIO> bio(BIO_new_mem_buf(certificate_text.data(), static_cast<int>(certificate_text.size())));
  key_.reset(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr));
  certificate_.reset(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (!key_ || !certificate_ || X509_check_private_key(certificate_.get(), key_.get()) != 1) {
    return Error{ErrorKind::invalid, "ca.pem and ca.key in " + directory + " are no certificate and its key (" +
                                         openssl_words() + "); remove both to have them made anew"};
  }
  if (X509_cmp_current_time(X509_get0_notAfter(certificate_.get())) < 0) {
    return Error{ErrorKind::invalid,
                 "the authority in " + directory + " has expired; remove ca.pem and ca.key to " + "have it made anew"};
  }
  return Unit{};
}

Result<Unit> Authority::make(const std::string& directory) {
  key_ = fresh_key();
  certificate_ = blank_certificate(key_.get(), "Sluice egress authority", authority_days);
  X509_set_issuer_name(certificate_.get(), X509_get_subject_name(certificate_.get()));
  extend(certificate_.get(), certificate_.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  extend(certificate_.get(), certificate_.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
  extend(certificate_.get(), certificate_.get(), NID_subject_key_identifier, "hash");
  SLUICE_CHECK(X509_sign(certificate_.get(), key_.get(), EVP_sha256()) > 0);
  if (auto done = write_file(directory + "/ca.key", pem_of(key_.get()), 0600); !done) return done;
  return write_file(directory + "/ca.pem", pem_of(certificate_.get()), 0644);
}

Result<Unit> Authority::write_bundle(const std::string& directory, const std::string& upstream_ca_file) {
  std::string text;
  for (const char* const file : system_bundles) {
    if (text.empty()) text = read_file(file);
  }
  if (!upstream_ca_file.empty()) text += "\n" + read_file(upstream_ca_file);
  text += "\n" + pem_of(certificate_.get());
  bundle_file_ = directory + "/ca-bundle.pem";
  return write_file(bundle_file_, text, 0644);
}

OpenSslPtr<X509> Authority::blank_certificate(EVP_PKEY* key, const std::string& name, int64_t days) {
  OpenSslPtr<X509> out(X509_new());
  SLUICE_CHECK(out != nullptr);
  X509_set_version(out.get(), X509_VERSION_3);
  std::array<uint8_t, 16> serial{};
  entropy_.fill(serial);
  serial[0] = static_cast<uint8_t>((serial[0] & 0x7f) | 0x40);  // positive, and never shorter
  BIGNUM* const number = BN_bin2bn(serial.data(), static_cast<int>(serial.size()), nullptr);
  BN_to_ASN1_INTEGER(number, X509_get_serialNumber(out.get()));
  BN_free(number);
  X509_gmtime_adj(X509_getm_notBefore(out.get()), -3600);  // sandboxes may have clocks that are behind
  X509_gmtime_adj(X509_getm_notAfter(out.get()), static_cast<long>(days * 24 * 3600));
  X509_set_pubkey(out.get(), key);
  // A common name holds 64 bytes; who verifies looks at the alternative name.
  X509_NAME_add_entry_by_txt(X509_get_subject_name(out.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.substr(0, 64).c_str()), -1, -1, 0);
  return out;
}

OpenSslPtr<X509> Authority::mint(const Destination& host) {
  OpenSslPtr<X509> out = blank_certificate(leaf_key_.get(), host.host, leaf_days);
  X509_set_issuer_name(out.get(), X509_get_subject_name(certificate_.get()));
  X509* const issuer = certificate_.get();
  extend(out.get(), issuer, NID_subject_alt_name, (host.is_address ? "IP:" : "DNS:") + host.host);
  extend(out.get(), issuer, NID_basic_constraints, "critical,CA:FALSE");
  extend(out.get(), issuer, NID_key_usage, "critical,digitalSignature");
  extend(out.get(), issuer, NID_ext_key_usage, "serverAuth");
  extend(out.get(), issuer, NID_authority_key_identifier, "keyid");
  SLUICE_CHECK(X509_sign(out.get(), key_.get(), EVP_sha256()) > 0);
  return out;
}

SSL_CTX* Authority::context_for(const Destination& host) {
  const int64_t now_us = loop_.monotonic_us();
  if (const auto at = leaves_.find(host.host); at != leaves_.end() && now_us < at->second.renew_us) {
    return at->second.context.get();
  }
  if (leaves_.size() >= leaves_max) leaves_.clear();  // sessions hold on to their own
  const OpenSslPtr<X509> leaf = mint(host);
  OpenSslPtr<SSL_CTX> context = make_server_context();
  SLUICE_CHECK(SSL_CTX_use_certificate(context.get(), leaf.get()) == 1);
  SLUICE_CHECK(SSL_CTX_use_PrivateKey(context.get(), leaf_key_.get()) == 1);
  mint_time_.observe_us(loop_.monotonic_us() - now_us);
  Leaf& kept = leaves_[host.host];
  kept = {std::move(context), now_us + renew_after_us};
  return kept.context.get();
}

}  // namespace sluice::egress
