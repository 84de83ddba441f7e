// An approver's key as it lies in a file: to sign decisions with, to register, or made here.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/records.h"

namespace sluice::cli {

struct ApproverKeyFile {
  std::string key_id;  // empty: the file does not say
  model::SignatureAlgorithm algorithm = model::SignatureAlgorithm::hmac_sha256;
  std::string material;  // the HMAC secret, or the raw Ed25519 private key
};

// Takes what `approver-keys create --json` and `approver-keys generate` write, bootstrap.json, and an Ed25519 private
// key in PEM. `invalid` in words that quote nothing of the file.
Result<ApproverKeyFile> read_approver_key(const std::string& path);

// The public key in a file, in base64url: from PEM, from base64url, or from what `approver-keys generate` wrote.
Result<std::string> read_public_key(const std::string& path);

struct KeyPair {
  std::string private_key;  // raw
  std::string public_key;
};
Result<KeyPair> pair_of(std::string_view private_key);

// Only its owner can read the file; an existing file is not overwritten.
Result<Unit> write_private_file(const std::string& path, std::string_view bytes);

}  // namespace sluice::cli
