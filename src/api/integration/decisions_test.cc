// I-14, I-15: approvals, and the signed decisions on them.
#include "api/approval_fixture.h"

namespace sluice::api {
namespace decisions_test {

class DecisionsTest : public ApprovalTest {
 protected:
  // Not proven: 403, and the approval is as it was.
  void expect_forged(const Answer& answer, const std::string& what) {
    EXPECT_EQ(answer->status, 403) << what << " " << answer->body;
    EXPECT_EQ(answer->slug(), "approval-signature-invalid") << what;
    EXPECT_EQ(status(), "pending") << what;
  }
};

TEST_F(DecisionsTest, I_14_an_approval_is_listed_and_got_and_its_message_waits) {
  park({an_action()}, R"({"user_id":"ana"})");
  const auto got = get("/v1/approvals/" + approval);
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(got->text("conversation_id"), conversation);
  EXPECT_EQ(got->text("reason"), "It needs a human.");
  EXPECT_EQ(got->member("requested_items"), R"([{"kind":"action","description":"Delete the branch."}])");
  EXPECT_EQ(got->member("resolved_by"), "null");
  EXPECT_NE(stream->body.find(got->body), std::string::npos) << "approval_required carries the whole of it";
  EXPECT_FALSE(stream->finished);
  EXPECT_EQ(get("/v1/messages/" + stream->header("X-Message-Id"))->text("status"), "awaiting_approval");
  for (const auto& query : Texts{"user_id=ana", "status=pending", "limit=1"}) {
    EXPECT_NE(get("/v1/approvals?" + query)->body.find(approval), std::string::npos) << query;
  }
  for (const auto& query : Texts{"user_id=bob", "status=denied"}) {
    EXPECT_EQ(get("/v1/approvals?" + query)->member("data"), "[]") << query;
  }
  for (const auto& query : Texts{"status=open", "conversation_id=x", "limit=0", "starting_after=msg_1"}) {
    EXPECT_EQ(get("/v1/approvals?" + query)->status, 422) << query;
  }
  EXPECT_EQ(get("/v1/approvals?conversation_id=con_00000000000000000000000000")->status, 404);
  EXPECT_EQ(ask_as("GET", "/v1/approvals/" + approval, {.key = other.key})->status, 404);
  EXPECT_EQ(ask_as("GET", "/v1/approvals", {.key = other.key})->member("data"), "[]");
}

TEST_F(DecisionsTest, I_15_a_signed_approval_continues_the_run_in_the_same_stream) {
  const auto key = make_key(acme);
  park({an_action()});
  const auto answer = approve(key, R"(,"note":"Fine.")");
  ASSERT_EQ(answer->status, 200) << answer->body;
  EXPECT_EQ(answer->text("status"), "approved");
  EXPECT_EQ(answer->text("note"), "Fine.");
  EXPECT_EQ(answer->text("resolved_by"), "approver_key:" + key.id);
  EXPECT_EQ(agent.dispatch_count, 2) << "pooled: dispatched anew";
  agent_says("Done.");
  agent_finishes();
  EXPECT_TRUE(stream->finished);
  EXPECT_NE(stream->body.find(R"("type":"resumed")"), std::string::npos);
  EXPECT_NE(stream->body.find(R"("decision":"approved")"), std::string::npos);
  EXPECT_NE(stream->body.find(R"("type":"message_end")"), std::string::npos);
  EXPECT_NE(audit_text().find(R"("action":"approval.approved")"), std::string::npos);
}

TEST_F(DecisionsTest, I_15_a_signed_denial_ends_the_run) {
  const auto key = make_key(acme);
  park({an_action()});
  EXPECT_EQ(deny(key, R"(,"secrets":{"A_KEY":"value-1234"})")->status, 422) << "a denial brings no secrets";
  EXPECT_EQ(status(), "pending");
  const auto answer = deny(key);
  ASSERT_EQ(answer->status, 200) << answer->body;
  EXPECT_EQ(answer->text("status"), "denied");
  EXPECT_TRUE(stream->finished);
  EXPECT_NE(stream->body.find("/problems/approval-denied"), std::string::npos);
  EXPECT_EQ(stream->body.find(R"("type":"resumed")"), std::string::npos);
}

TEST_F(DecisionsTest, I_15_an_ed25519_key_decides_too) {
  // Of RFC 8032, test 1.
  const std::string seed =
      "\x9d\x61\xb1\x9d\xef\xfd\x5a\x60\xba\x84\x4a\xf4\x92\xec\x2c\xc4\x44\x49\xc5\x69\x7b\x32\x69\x19\x70\x3b\xac"
      "\x03\x1c\xae\x7f\x60";
  const std::string public_key = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
  const auto made = admin("POST", "/v1/tenants/" + acme.id.text() + "/approver-keys",
                          R"({"algorithm":"ed25519","public_key":")" + public_key + "\"}");
  park({an_action()});
  gates::Signature signature{.key_id = made->text("id"), .algorithm = "ed25519", .exp = in_seconds(60)};
  const auto payload = gates::payload_of(*model::ApprovalId::parse(approval), true, signature);
  signature.value = gates::sign(payload, model::SignatureAlgorithm::ed25519, seed).take();
  auto forged = signature;
  forged.value[5] = forged.value[5] == 'A' ? 'B' : 'A';
  expect_forged(decide(true, body_of(forged)), "flipped");
  forged = signature;
  forged.algorithm = "hmac-sha256";
  expect_forged(decide(true, body_of(forged)), "named as hmac");
  EXPECT_EQ(decide(true, body_of(signature))->text("status"), "approved");
}

TEST_F(DecisionsTest, I_15_what_is_not_proven_is_403_and_leaves_the_approval_alone) {
  const auto key = make_key(acme);
  const auto others = make_key(other);
  const auto revoked = make_key(acme);
  admin("DELETE", "/v1/tenants/" + acme.id.text() + "/approver-keys/" + revoked.id);
  park({an_action()});
  const auto good = sign(key, true, approval, in_seconds(300));
  const auto with = [&](auto change) {
    auto changed = good;
    change(changed);
    return decide(true, body_of(changed));
  };
  expect_forged(with([](auto& s) { s.value[0] = s.value[0] == 'A' ? 'B' : 'A'; }), "forged");
  expect_forged(with([](auto& s) { s.value.pop_back(); }), "too short");
  expect_forged(with([](auto& s) { s.value += "AAAA"; }), "too long");
  expect_forged(with([](auto& s) { s.value += "="; }), "padded");
  expect_forged(with([](auto& s) { s.value = "not base64url!"; }), "no base64url");
  expect_forged(with([](auto& s) { s.value.clear(); }), "empty");
  expect_forged(with([](auto& s) { s.exp += 1; }), "another exp");
  expect_forged(with([](auto& s) { s.algorithm = "ed25519"; }), "another algorithm");
  expect_forged(with([](auto& s) { s.algorithm = "none"; }), "no algorithm");
  expect_forged(with([](auto& s) { s.key_id = "apk_00000000000000000000000000"; }), "unknown key");
  expect_forged(with([](auto& s) { s.key_id = "x"; }), "no key");
  expect_forged(with([&](auto& s) {
                  s.key_id = revoked.id;
                  resign(s, revoked, true, approval);
                }),
                "revoked key");
  expect_forged(with([&](auto& s) {
                  s.key_id = others.id;
                  resign(s, others, true, approval);
                }),
                "other tenant's");
  expect_forged(with([&](auto& s) {
                  s.exp = in_seconds(-1);
                  resign(s, key, true, approval);
                }),
                "over");
  expect_forged(with([&](auto& s) {
                  s.exp = in_seconds(901);
                  resign(s, key, true, approval);
                }),
                "too far ahead");
  expect_forged(with([&](auto& s) {
                  s.exp = -1;
                  resign(s, key, true, approval);
                }),
                "before 1970");
  expect_forged(with([&](auto& s) { resign(s, key, false, approval); }), "another decision");
  expect_forged(with([&](auto& s) { resign(s, key, true, "apr_00000000000000000000000001"); }), "another approval");
  expect_forged(with([&](auto& s) {
                  s.items_digest = gates::items_digest({});
                  resign(s, key, true, approval);
                }),
                "another deed");
  EXPECT_EQ(audit_text().find("approval.approved"), std::string::npos);
  EXPECT_EQ(decide(true, body_of(good))->status, 200);
}

TEST_F(DecisionsTest, I_15_an_assertion_of_whatever_shape_is_refused_as_a_forged_one_is) {
  park({an_action()});
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"null", "/signature"},
      {R"("x")", "/signature"},
      {"[]", "/signature"},
      {"{}", "/signature/key_id"},
      {R"({"key_id":1,"algorithm":"a","exp":1,"value":"v"})", "/signature/key_id"},
      {R"({"key_id":"k","algorithm":[],"exp":1,"value":"v"})", "/signature/algorithm"},
      {R"({"key_id":"k","algorithm":"a","exp":"1","value":"v"})", "/signature/exp"},
      {R"({"key_id":"k","algorithm":"a","exp":1.5,"value":"v"})", "/signature/exp"},
      {R"({"key_id":"k","algorithm":"a","exp":1)" + std::string(30, '0') + R"(,"value":"v"})", "/signature/exp"},
      {R"({"key_id":"k","algorithm":"a","exp":-1e999,"value":"v"})", "/signature/exp"},
      {R"({"key_id":"k","algorithm":"a","exp":1,"value":true})", "/signature/value"},
      {R"({"key_id":"k","algorithm":"a","exp":1,"value":"v","items_digest":7})", "/signature/items_digest"}};
  for (const auto& [signature, pointer] : wrong) {
    for (const bool approves : {true, false}) {
      const auto answer = decide(approves, R"({"signature":)" + signature + "}");
      EXPECT_EQ(answer->status, 403) << signature;
      EXPECT_EQ(answer->slug(), "approval-signature-invalid") << signature;
      EXPECT_NE(answer->text("detail").find(pointer + " "), std::string::npos) << answer->body;
    }
  }
  EXPECT_EQ(status(), "pending");
}

TEST_F(DecisionsTest, I_15_a_decision_without_an_assertion_or_with_a_wrong_field_is_422_and_says_where) {
  park({an_action()});
  const std::string good = R"({"key_id":"k","algorithm":"hmac-sha256","exp":1,"value":"v"})";
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"{}", "/signature"},
      {R"({"signature":)" + good + R"(,"note":1})", "/note"},
      {R"({"signature":)" + good + R"(,"secrets":[]})", "/secrets"},
      {R"({"signature":)" + good + R"(,"secrets":{"A":1}})", "/secrets/A"}};
  for (const auto& [body, pointer] : wrong) {
    const auto answer = decide(true, body);
    EXPECT_EQ(answer->status, 422) << body;
    EXPECT_NE(answer->body.find("\"" + pointer + "\""), std::string::npos) << body << " " << answer->body;
  }
  EXPECT_EQ(decide(true, "{")->status, 400);
  EXPECT_EQ(status(), "pending");
}

TEST_F(DecisionsTest, I_15_of_two_decisions_one_counts) {
  const auto key = make_key(acme);
  park({an_action()});
  const auto make = [&](bool yes) {
    net::Request request;
    request.method = "POST";
    request.path = "/v1/approvals/" + approval + (yes ? "/approve" : "/deny");
    request.headers.add("Authorization", "Bearer " + acme.key);
    request.body = body_of(sign(key, yes, approval, in_seconds(60)));
    return std::make_shared<FakeExchange>(std::move(request));
  };
  const auto first = make(true), second = make(false);
  api->handle(first);
  api->handle(second);
  loop.settle();
  EXPECT_EQ(first->status, 200);
  EXPECT_EQ(second->status, 409);
  EXPECT_EQ(second->slug(), "approval-expired");
  EXPECT_EQ(approve(key)->status, 200) << "the same decision of the same key";
  const auto late = approve(make_key(acme));
  EXPECT_EQ(late->status, 409) << late->body;
  EXPECT_EQ(late->slug(), "approval-expired");
  EXPECT_EQ(status(), "approved");
}

TEST_F(DecisionsTest, I_14_an_expired_approval_cannot_be_approved) {
  const auto key = make_key(acme);
  park({an_action()});
  loop.advance({engine::EngineOptions{}.approval_seconds * 1000 + 1});
  EXPECT_EQ(status(), "expired");
  EXPECT_EQ(get("/v1/approvals/" + approval)->text("resolved_by"), "expiry");
  EXPECT_EQ(approve(key)->slug(), "approval-expired");
  EXPECT_NE(stream->body.find("/problems/approval-expired"), std::string::npos);
}

TEST_F(DecisionsTest, I_15_a_tenant_can_require_that_decisions_are_bound_to_their_deed) {
  const auto key = make_key(acme);
  admin("PATCH", "/v1/tenants/" + acme.id.text(), R"({"settings":{"require_bound_decisions":true}})");
  park({an_action(), a_secret("CRM_KEY")});
  const std::string secrets = R"(,"secrets":{"CRM_KEY":"value-1234"})";
  expect_forged(approve(key, secrets), "unbound");
  auto bound = sign(key, true, approval, in_seconds(60));
  bound.items_digest = gates::items_digest({an_action(), a_secret("CRM_KEY")});
  bound.secrets_digest = gates::secrets_digest({{"CRM_KEY", "value-1234"}});
  resign(bound, key, true, approval);
  expect_forged(decide(true, body_of(bound, R"(,"secrets":{"CRM_KEY":"swapped-1234"})")), "swapped");
  const auto answer = decide(true, body_of(bound, secrets));
  EXPECT_EQ(answer->status, 200) << answer->body;
}

TEST_F(DecisionsTest, I_17_requested_secrets_must_be_supplied_or_stored) {
  const auto key = make_key(acme);
  park({a_secret("CRM_KEY", {"api.crm.example"}), a_secret("ERP_KEY", {"erp.example"})});
  const auto missing = approve(key, R"(,"secrets":{"CRM_KEY":"value-1234"})");
  EXPECT_EQ(missing->status, 422) << missing->body;
  EXPECT_NE(missing->body.find(R"("/secrets/ERP_KEY")"), std::string::npos);
  EXPECT_EQ(status(), "pending");
  EXPECT_TRUE(on_file().empty()) << "nothing was kept";
  put("/v1/secrets", R"({"secrets":{"ERP_KEY":"value-5678"}})");
  const auto answer =
      approve(key, R"(,"secrets":{"CRM_KEY":"value-1234","EXTRA":{"value":"value-9012","hosts":["*.example"]}})");
  EXPECT_EQ(answer->status, 200) << answer->body;
  EXPECT_EQ(answer->body.find("value-"), std::string::npos);
  const auto kept = on_file();
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].alias, "CRM_KEY");
  EXPECT_EQ(kept[0].hosts, Texts{"api.crm.example"}) << "bound to where it was asked for";
  EXPECT_EQ(kept[1].hosts, Texts{"*.example"});
  EXPECT_EQ(sealer.open(acme.id, vault::context_of(kept[0]), kept[0].sealed).take(), "value-1234");
  for (const auto& line : log.lines) EXPECT_EQ(line.find("value-"), std::string::npos) << line;
  EXPECT_EQ(audit_text().find("value-"), std::string::npos);
}

TEST_F(DecisionsTest, I_17_a_repeated_decision_with_other_secrets_is_not_answered_as_if_they_were_kept) {
  const auto key = make_key(acme);
  park({a_secret("CRM_KEY", {"api.crm.example"})});
  const std::string first = R"(,"secrets":{"CRM_KEY":"value-1234"})";
  EXPECT_EQ(approve(key, first)->status, 200);
  EXPECT_EQ(approve(key, first)->status, 200) << "the same again";
  EXPECT_EQ(approve(key)->status, 200) << "and without what was kept already";
  for (const std::string other : {R"({"CRM_KEY":"value-5678"})", R"({"CRM_KEY":"value-1234","MORE":"value-9012"})",
                                  R"({"CRM_KEY":{"value":"value-1234","hosts":["*"]}})"}) {
    const auto refused = approve(key, R"(,"secrets":)" + other);
    EXPECT_EQ(refused->status, 409) << other;
    EXPECT_EQ(refused->slug(), "approval-expired") << other;
  }
  EXPECT_EQ(approve(key, R"(,"note":"Later.")")->status, 409);
  const auto kept = on_file();
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(sealer.open(acme.id, vault::context_of(kept[0]), kept[0].sealed).take(), "value-1234");
}

TEST_F(DecisionsTest, I_17_an_archived_conversation_takes_no_secrets_and_its_gate_stays) {
  const auto key = make_key(acme);
  park({a_secret("CRM_KEY", {"api.crm.example"})});
  const auto archive = [&](std::string_view status_word) {
    return patch("/v1/conversations/" + conversation, R"({"status":")" + std::string(status_word) + R"("})");
  };
  ASSERT_EQ(archive("archived")->status, 200);
  const auto refused = approve(key, R"(,"secrets":{"CRM_KEY":"value-1234"})");
  EXPECT_EQ(refused->status, 409) << refused->body;
  EXPECT_NE(refused->body.find("/problems/conversation-archived"), std::string::npos);
  EXPECT_EQ(status(), "pending");
  ASSERT_EQ(archive("active")->status, 200);
  EXPECT_EQ(approve(key, R"(,"secrets":{"CRM_KEY":"value-1234"})")->status, 200);
}

TEST_F(DecisionsTest, I_17_an_approver_can_name_other_hosts_than_the_requested_ones) {
  const auto key = make_key(acme);
  park({a_secret("CRM_KEY", {"api.crm.example"})});
  approve(key, R"(,"secrets":{"CRM_KEY":{"value":"value-1234","hosts":["crm.example"],"places":["header"]}})");
  ASSERT_EQ(on_file().size(), 1U);
  EXPECT_EQ(on_file()[0].hosts, Texts{"crm.example"});
  EXPECT_EQ(on_file()[0].places, model::place_header);
}

TEST_F(DecisionsTest, I_17_a_secret_for_a_waiting_request_may_stand_where_that_request_has_it) {
  const auto key = make_key(acme);
  auto item = a_secret("CRM_KEY", {"api.crm.example"});
  item.places = model::places_by_default | model::place_query;
  park({item});
  approve(key, R"(,"secrets":{"CRM_KEY":"value-1234"})");
  ASSERT_EQ(on_file().size(), 1U);
  EXPECT_EQ(on_file()[0].places, item.places);
}

TEST_F(DecisionsTest, I_17_a_secret_without_places_may_stand_in_headers_only) {
  const auto key = make_key(acme);
  park({a_secret("CRM_KEY", {"api.crm.example"})});
  approve(key, R"(,"secrets":{"CRM_KEY":"value-1234"})");
  ASSERT_EQ(on_file().size(), 1U);
  EXPECT_EQ(on_file()[0].places, model::places_by_default);
}

TEST_F(DecisionsTest, I_15_a_key_whose_secret_is_not_sealed_decides_nothing) {
  const std::string secret(43, 's');
  model::ApproverKey planted{.id = ids.make<model::ApproverKeyId>(), .tenant_id = acme.id, .material = secret};
  store::create_approver_key(store.database(), planted, [](Result<Unit> made) { ASSERT_TRUE(made); });
  park({an_action()});
  const auto answer = approve({planted.id.text(), secret});
  expect_forged(answer, "planted");
  EXPECT_NE(answer->text("detail").find("create another one"), std::string::npos);
  EXPECT_TRUE(logged("approver key cannot be opened"));
}

TEST_F(DecisionsTest, I_15_an_agent_cannot_approve_its_own_gate) {
  const auto key = make_key(acme);
  park({an_action()});
  const auto execution = post(workspace_of(acme) + "/executions", "{}");
  const auto otp = execution->text("otp_run");
  const auto bearer = "asbx_" + execution->text("id");
  ASSERT_EQ(ask_as("GET", workspace_of(acme) + "/agents", {.key = bearer})->status, 200) << "a good bearer";
  const auto body = body_of(sign(key, true, approval, in_seconds(60)));
  for (const auto& path : Texts{"/approve", "/deny"}) {
    const auto target = "/v1/approvals/" + approval + path;
    EXPECT_EQ(ask_as("POST", target, {.body = body})->status, 401);
    EXPECT_EQ(ask_as("POST", target, {.key = otp, .body = body})->status, 401);
    EXPECT_EQ(ask_as("POST", target, {.key = "asbx_guess", .body = body})->status, 401);
    EXPECT_EQ(ask_as("POST", target, {.key = bearer, .body = body})->status, 403);
  }
  EXPECT_EQ(status(), "pending");
}

}  // namespace decisions_test
}  // namespace sluice::api
