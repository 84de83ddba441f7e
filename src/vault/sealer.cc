// Seals and opens values. What a sealed value is, byte by byte:
//
//   1   format, 1
//   4   the master key's id
//   12  nonce, random
//   n   the value, encrypted
//   16  tag
//
// The key is HKDF-SHA256 of the master key for one tenant; tenant and context are authenticated with it.
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"
#include "vault/vault.h"

namespace sluice::vault {
namespace {

constexpr char format = 1;
constexpr std::size_t key_bytes = 32;
constexpr std::size_t id_bytes = 4;
constexpr std::size_t nonce_bytes = 12;
constexpr std::size_t tag_bytes = 16;
constexpr std::size_t head_bytes = 1 + id_bytes + nonce_bytes;
constexpr std::string_view salt = "sluice.vault.1";

struct CipherDelete {
  void operator()(EVP_CIPHER_CTX* cipher) const { EVP_CIPHER_CTX_free(cipher); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, CipherDelete>;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

// A key that leaves nothing behind.
class TenantKey final {
 public:
  // RFC 5869; one block of output is all that is needed.
  TenantKey(const MasterKey& master, std::string_view tenant) {
    auto extracted = hmac_sha256(salt, master.bytes);
    bytes_ = hmac_sha256(extracted, std::string(tenant) + '\x01');
    OPENSSL_cleanse(extracted.data(), extracted.size());
  }
  ~TenantKey() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }
  TenantKey(const TenantKey&) = delete;
  TenantKey& operator=(const TenantKey&) = delete;
  const unsigned char* data() const { return bytes_of(std::string_view(bytes_)); }

 private:
  std::string bytes_;
};

std::string id_of(std::string_view key) { return to_hex(sha256(key).substr(0, id_bytes)); }

Error corrupt(std::string what) { return {ErrorKind::corrupt, std::move(what)}; }

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view blank = " \t\r";
  line = line.substr(0, line.find('#'));
  const auto first = line.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(blank) - first + 1);
}

}  // namespace

Result<std::vector<MasterKey>> parse_key_file(std::string_view text) {
  std::vector<MasterKey> keys;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const auto where = "line " + std::to_string(number) + " of the key file ";
    auto key = from_base64url(line);
    if (!key || key->size() != key_bytes) {
      return Error{ErrorKind::invalid, where + "is no key; a key is 32 bytes as base64url, 43 characters, no padding"};
    }
    auto id = id_of(*key);
    if (std::ranges::find(keys, id, &MasterKey::id) != keys.end()) {
      return Error{ErrorKind::invalid, where + "repeats key " + id + "; remove one of the two"};
    }
    keys.push_back({std::move(id), *std::move(key)});
  }
  if (keys.empty()) return Error{ErrorKind::invalid, "the key file has no key in it; it needs one a line"};
  return keys;
}

std::string fresh_key_line(world::Entropy& entropy) {
  std::array<uint8_t, key_bytes> key{};
  entropy.fill(key);
  auto line = to_base64url({reinterpret_cast<const char*>(key.data()), key.size()}) + "\n";
  OPENSSL_cleanse(key.data(), key.size());
  return line;
}

struct Sealer::Keys {
  std::vector<MasterKey> all;

  explicit Keys(std::vector<MasterKey> keys) : all(std::move(keys)) {}
  ~Keys() {
    for (auto& key : all) OPENSSL_cleanse(key.bytes.data(), key.bytes.size());
  }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;
};

Sealer::Sealer(std::vector<MasterKey> keys, world::Entropy& entropy)
    : keys_(std::make_unique<Keys>(std::move(keys))), entropy_(entropy) {
  SLUICE_CHECK(!keys_->all.empty());
  for (const auto& key : keys_->all) SLUICE_CHECK(key.bytes.size() == key_bytes && key.id == id_of(key.bytes));
}

Sealer::~Sealer() = default;

std::string Sealer::seal(model::TenantId tenant, std::string_view context, std::string_view value) {
  const auto& master = keys_->all.front();
  const auto tenant_text = tenant.text();
  const TenantKey key(master, tenant_text);
  std::array<uint8_t, nonce_bytes> nonce{};
  entropy_.fill(nonce);

  std::string sealed(1, format);
  sealed += sha256(master.bytes).substr(0, id_bytes);
  sealed.append(reinterpret_cast<const char*>(nonce.data()), nonce.size());
  sealed.resize(head_bytes + value.size() + tag_bytes);
  auto* out = bytes_of(sealed) + head_bytes;
  const Cipher cipher(EVP_CIPHER_CTX_new());
  int size = 0;
  SLUICE_CHECK(EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce.data()) == 1);
  for (const std::string_view bound : {std::string_view(tenant_text), context}) {
    SLUICE_CHECK(EVP_EncryptUpdate(cipher.get(), nullptr, &size, bytes_of(bound), static_cast<int>(bound.size())) == 1);
  }
  SLUICE_CHECK(EVP_EncryptUpdate(cipher.get(), out, &size, bytes_of(value), static_cast<int>(value.size())) == 1);
  SLUICE_CHECK(EVP_EncryptFinal_ex(cipher.get(), out + value.size(), &size) == 1);
  SLUICE_CHECK(
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(tag_bytes), out + value.size()) == 1);
  return sealed;
}

Result<std::string> Sealer::open(model::TenantId tenant, std::string_view context, std::string_view sealed) const {
  if (sealed.size() < head_bytes + tag_bytes) return corrupt("a sealed value is cut short");
  if (sealed[0] != format) return corrupt("a sealed value is of a format this server does not know");
  const auto id = to_hex(sealed.substr(1, id_bytes));
  const auto master = std::ranges::find(keys_->all, id, &MasterKey::id);
  if (master == keys_->all.end()) {
    return Error{ErrorKind::not_found,
                 "key " + id + ", under which a value was sealed, is not in the key file; put it back on a later line"};
  }
  const auto tenant_text = tenant.text();
  const TenantKey key(*master, tenant_text);
  const auto nonce = sealed.substr(1 + id_bytes, nonce_bytes);
  const auto text = sealed.substr(head_bytes, sealed.size() - head_bytes - tag_bytes);
  std::string tag(sealed.substr(sealed.size() - tag_bytes));
  std::string value(text.size(), '\0');
  const Cipher cipher(EVP_CIPHER_CTX_new());
  int size = 0;
  SLUICE_CHECK(EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), bytes_of(nonce)) == 1);
  for (const std::string_view bound : {std::string_view(tenant_text), context}) {
    SLUICE_CHECK(EVP_DecryptUpdate(cipher.get(), nullptr, &size, bytes_of(bound), static_cast<int>(bound.size())) == 1);
  }
  SLUICE_CHECK(EVP_DecryptUpdate(cipher.get(), bytes_of(value), &size, bytes_of(text), static_cast<int>(text.size())) ==
               1);
  SLUICE_CHECK(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(tag.size()), tag.data()) == 1);
  std::array<unsigned char, tag_bytes> rest{};
  if (EVP_DecryptFinal_ex(cipher.get(), rest.data(), &size) != 1) {
    OPENSSL_cleanse(value.data(), value.size());
    return corrupt("a sealed value was changed since, or was sealed for another tenant or purpose");
  }
  return value;
}

bool Sealer::is_current(std::string_view sealed) const {
  return sealed.size() >= head_bytes + tag_bytes && sealed[0] == format &&
         to_hex(sealed.substr(1, id_bytes)) == keys_->all.front().id;
}

std::string context_of(const model::SealedSecret& secret) {
  std::string context = "secret:";
  context.append(model::name_of(secret.scope)) += ':';
  append_ulid(context, secret.owner);
  return (context += ':').append(secret.alias);
}

std::string context_of(model::ApproverKeyId key) { return "approver_key:" + key.text(); }

}  // namespace sluice::vault
