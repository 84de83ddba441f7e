// Workflow runs: started, listed, read line by line, cancelled.
#include <limits>

#include "api/answers/pages.h"
#include "api/workflows/workflows.h"

namespace sluice::api::workflows {
namespace {

constexpr std::string_view start_names[] = {"inputs"};
constexpr std::string_view start_parameters[] = {"profile"};
constexpr std::string_view line_parameters[] = {"after", "profile"};

// Exists from the head to the last byte, owned by OpenAnswers. The run continues when the client disconnects.
class LineStream final : public OpenAnswer, public engine::Reader, public std::enable_shared_from_this<LineStream> {
 public:
  explicit LineStream(const RequestPtr& request) : request_(request) {}

  void open(const model::WorkflowRun& run, flow::LineView view) {
    net::Exchange& exchange = request_->exchange();
    exchange.on_drained([weak = weak_from_this()] {
      const auto stream = weak.lock();
      if (stream && !stream->over_ && stream->reading_) stream->reading_->more();
    });
    exchange.on_gone([weak = weak_from_this()] {
      if (const auto stream = weak.lock()) stream->close("caller left");
    });
    request_->services().open_answers.keep(shared_from_this());
    if (exchange.gone()) return close("caller left");
    reading_ = request_->services().needs.flows.read(run, view, *this);
  }

  void take(SharedBytes lines) override {
    if (!over_) request_->exchange().write(std::move(lines));
  }
  bool full() const override { return request_->exchange().unsent_bytes() > limits::stream_unsent_bytes_max; }
  void end() override {
    if (over_) return;
    request_->exchange().finish();
    close("complete");
  }
  void lose(const Error& why) override {
    if (over_) return;
    request_->services().needs.log.write(world::LogLevel::error, "stream lost",
                                         {{"request_id", request_->request_id()}, {"why", why.what}});
    request_->exchange().abort();
    close("lost");
  }

 private:
  void close(std::string_view how) {
    if (std::exchange(over_, true)) return;
    request_->stream_ended(how);
    request_->services().open_answers.let_go(*this);
  }

  RequestPtr request_;
  std::unique_ptr<engine::Reading> reading_;
  bool over_ = false;
};

void open_lines(const RequestPtr& request, const model::WorkflowRun& run, flow::LineView view) {
  request->start_stream({{"X-Workflow-Run-Id", run.id.text()}, {"Content-Type", "application/x-ndjson"}});
  if (request->http().method == "HEAD") {
    request->exchange().finish();
    return request->stream_ended("complete");
  }
  std::make_shared<LineStream>(request)->open(run, view);
}

bool read_profile(const Query& query) {
  const auto profile = query.find("profile").value_or("plain");
  if (profile != "plain" && profile != "extended") query.refuse("profile", "must be plain or extended");
  return profile == "extended";
}

bool wants_no_stream(const RequestPtr& request) {
  const auto prefer = request->header("Prefer");
  return prefer && prefer->find("respond-async") != std::string_view::npos;
}

// Calls `then` with the run that the path names, or answers.
void with_run(const RequestPtr& request, Callback<void(const model::WorkflowRun&)> then) {
  const auto id = request->path_id<model::WorkflowRunId>();
  if (!id) return request->not_found();
  store::workflow_run(request->database(), request->tenant().id, *id,
                      [request, then = std::move(then)](const Result<model::WorkflowRun>& run) mutable {
                        run ? then(run.value()) : request->fail(run.error());
                      });
}

}  // namespace

void start_run(const RequestPtr& request) {
  const auto id = request->path_id<model::WorkflowId>();
  if (!id) return request->not_found();
  const auto body = read_body(request);
  if (!body) return;
  Findings findings;
  const Fields fields(body->root(), "", start_names, findings);
  auto inputs = fields.object_text("inputs").value_or("{}");
  const Query query(request, start_parameters, findings);
  const flow::LineView view{.extended = read_profile(query)};
  if (refused(request, findings)) return;

  auto begun = [request, view](const flow::RunOutcome& outcome) {
    if (const auto* problem = std::get_if<model::Problem>(&outcome)) return request->problem(*problem);
    const auto& run = std::get<model::WorkflowRun>(outcome);
    if (!wants_no_stream(request)) return open_lines(request, run, view);
    const auto workspace = model::WorkspaceId{run.tenant_id.ulid}.text();
    request->answer_json(202, model::to_json(run),
                         {{"Location", "/api/workspaces/" + workspace + "/workflow-runs/" + run.id.text()},
                          {"Preference-Applied", "respond-async"}});
  };
  store::workflow(request->database(), request->tenant().id, *id,
                  [request, inputs = std::move(inputs), begun](const Result<model::Workflow>& workflow) mutable {
                    if (!workflow) return request->fail(workflow.error());
                    request->services().needs.flows.start({request->tenant().id, workflow.value(), std::move(inputs)},
                                                          begun);
                  });
}

void list_runs(const RequestPtr& request) {
  const auto id = request->path_id<model::WorkflowId>();
  if (!id) return request->not_found();
  const auto query = read_page_query<model::WorkflowRunId>(request);
  if (!query) return;
  store::workflow_runs(
      request->database(), request->tenant().id, *id, *query,
      [request, query](const Result<store::Page<model::WorkflowRun>>& page) { answer_page(request, *query, page); });
}

void get_run(const RequestPtr& request) {
  with_run(request, [request](const model::WorkflowRun& run) { request->answer_json(200, model::to_json(run)); });
}

void stream_run(const RequestPtr& request) {
  Findings findings;
  const Query query(request, line_parameters, findings);
  flow::LineView view{.extended = read_profile(query)};
  view.after = query.integer("after", 0, std::numeric_limits<int64_t>::max()).value_or(-1);
  if (refused(request, findings)) return;
  with_run(request, [request, view](const model::WorkflowRun& run) { open_lines(request, run, view); });
}

void cancel_run(const RequestPtr& request) {
  const auto id = request->path_id<model::WorkflowRunId>();
  if (!id) return request->not_found();
  request->services().needs.flows.cancel(request->tenant().id, *id, [request](const flow::RunOutcome& outcome) {
    if (const auto* problem = std::get_if<model::Problem>(&outcome)) return request->problem(*problem);
    request->answer_json(200, model::to_json(std::get<model::WorkflowRun>(outcome)));
  });
}

}  // namespace sluice::api::workflows
