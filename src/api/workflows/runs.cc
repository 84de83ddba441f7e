// Workflow runs: started, listed, read line by line, cancelled.
#include <limits>

#include "api/pages.h"
#include "api/workflows/handlers.h"

namespace sluice::api::workflows {
namespace {

constexpr std::string_view start_names[] = {"inputs"};
constexpr std::string_view start_parameters[] = {"profile"};
constexpr std::string_view line_parameters[] = {"after", "profile"};

// Lives from the head to the last byte, owned by OpenAnswers. The caller may leave: the run goes on.
class LineStream final : public OpenAnswer, public engine::Reader, public std::enable_shared_from_this<LineStream> {
 public:
  explicit LineStream(const Asked& asked) : asked_(asked) {}

  void open(const model::WorkflowRun& run, flow::LineView view) {
    net::Exchange& exchange = asked_->exchange();
    exchange.on_drained([weak = weak_from_this()] {
      const auto stream = weak.lock();
      if (stream && !stream->over_ && stream->reading_) stream->reading_->more();
    });
    exchange.on_gone([weak = weak_from_this()] {
      if (const auto stream = weak.lock()) stream->close("caller left");
    });
    asked_->surface().open_answers.keep(shared_from_this());
    if (exchange.gone()) return close("caller left");
    reading_ = asked_->surface().needs.flows.read(run, view, *this);
  }

  void take(SharedBytes lines) override {
    if (!over_) asked_->exchange().write(std::move(lines));
  }
  bool full() const override { return asked_->exchange().unsent_bytes() > limits::stream_unsent_bytes_max; }
  void end() override {
    if (over_) return;
    asked_->exchange().finish();
    close("complete");
  }
  void lose(const Error& why) override {
    if (over_) return;
    asked_->surface().needs.log.write(world::LogLevel::error, "stream lost",
                                      {{"request_id", asked_->request_id()}, {"why", why.what}});
    asked_->exchange().abort();
    close("lost");
  }

 private:
  void close(std::string_view how) {
    if (std::exchange(over_, true)) return;
    asked_->stream_ended(how);
    asked_->surface().open_answers.let_go(*this);
  }

  Asked asked_;
  std::unique_ptr<engine::Reading> reading_;
  bool over_ = false;
};

void open_lines(const Asked& asked, const model::WorkflowRun& run, flow::LineView view) {
  asked->start_stream({{"X-Workflow-Run-Id", run.id.text()}, {"Content-Type", "application/x-ndjson"}});
  if (asked->request().method == "HEAD") {
    asked->exchange().finish();
    return asked->stream_ended("complete");
  }
  std::make_shared<LineStream>(asked)->open(run, view);
}

bool read_profile(const Query& query) {
  const auto profile = query.find("profile").value_or("plain");
  if (profile != "plain" && profile != "extended") query.refuse("profile", "must be plain or extended");
  return profile == "extended";
}

bool wants_no_stream(const Asked& asked) {
  const auto prefer = asked->header("Prefer");
  return prefer && prefer->find("respond-async") != std::string_view::npos;
}

// Calls back with the run that the path names, or the caller has been told.
void with_run(const Asked& asked, Callback<void(const model::WorkflowRun&)> then) {
  const auto id = asked->path_id<model::WorkflowRunId>();
  if (!id) return asked->not_found();
  asked->store().workflows().run(asked->tenant().id, *id,
                                 [asked, then = std::move(then)](const Result<model::WorkflowRun>& run) mutable {
                                   run ? then(run.value()) : asked->fail(run.error());
                                 });
}

}  // namespace

void start_run(const Asked& asked) {
  const auto id = asked->path_id<model::WorkflowId>();
  if (!id) return asked->not_found();
  const auto body = read_body(asked);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", start_names, findings);
  auto inputs = fields.object_text("inputs").value_or("{}");
  const Query query(asked, start_parameters, findings);
  const flow::LineView view{.extended = read_profile(query)};
  if (refused(asked, findings)) return;

  auto begun = [asked, view](const flow::RunOutcome& outcome) {
    if (const auto* problem = std::get_if<model::Problem>(&outcome)) return asked->problem(*problem);
    const auto& run = std::get<model::WorkflowRun>(outcome);
    if (!wants_no_stream(asked)) return open_lines(asked, run, view);
    const auto workspace = model::WorkspaceId{run.tenant_id.ulid}.text();
    asked->answer_json(202, model::to_json(run),
                       {{"Location", "/api/workspaces/" + workspace + "/workflow-runs/" + run.id.text()},
                        {"Preference-Applied", "respond-async"}});
  };
  asked->store().workflows().workflow(
      asked->tenant().id, *id,
      [asked, inputs = std::move(inputs), begun](const Result<model::Workflow>& workflow) mutable {
        if (!workflow) return asked->fail(workflow.error());
        asked->surface().needs.flows.start({asked->tenant().id, workflow.value(), std::move(inputs)}, begun);
      });
}

void list_runs(const Asked& asked) {
  const auto id = asked->path_id<model::WorkflowId>();
  if (!id) return asked->not_found();
  const auto query = read_page_query<model::WorkflowRunId>(asked);
  if (!query) return;
  asked->store().workflows().runs(
      asked->tenant().id, *id, *query,
      [asked, query](const Result<store::Page<model::WorkflowRun>>& page) { answer_page(asked, *query, page); });
}

void get_run(const Asked& asked) {
  with_run(asked, [asked](const model::WorkflowRun& run) { asked->answer_json(200, model::to_json(run)); });
}

void stream_run(const Asked& asked) {
  Findings findings;
  const Query query(asked, line_parameters, findings);
  flow::LineView view{.extended = read_profile(query)};
  view.after = query.integer("after", 0, std::numeric_limits<int64_t>::max()).value_or(-1);
  if (refused(asked, findings)) return;
  with_run(asked, [asked, view](const model::WorkflowRun& run) { open_lines(asked, run, view); });
}

void cancel_run(const Asked& asked) {
  const auto id = asked->path_id<model::WorkflowRunId>();
  if (!id) return asked->not_found();
  asked->surface().needs.flows.cancel(asked->tenant().id, *id, [asked](const flow::RunOutcome& outcome) {
    if (const auto* problem = std::get_if<model::Problem>(&outcome)) return asked->problem(*problem);
    asked->answer_json(200, model::to_json(std::get<model::WorkflowRun>(outcome)));
  });
}

}  // namespace sluice::api::workflows
