#include "flow/plan.h"

#include <algorithm>

#include "base/limits.h"
#include "flow/members.h"

namespace sluice::flow {
namespace {

using Faults = model::FieldErrors;

// Looks over a definition that could be read.
class Check {
 public:
  Check(Plan& plan, std::string at, Faults& faults) : plan_(plan), at_(std::move(at)), faults_(faults) {}

  void look() {
    check_names();
    check_edges();
    if (!faults_.empty()) return;  // what follows needs names that are somebody's
    find_order();
    if (!faults_.empty()) return;
    check_templates();
  }

 private:
  const Definition& definition() const { return plan_.definition; }
  std::string place_of(std::string_view list, std::size_t index) const {
    return pointer_to(pointer_to(at_, list), std::to_string(index));
  }
  void refuse(std::string pointer, std::string message) { faults_.push_back({std::move(pointer), std::move(message)}); }

  template <typename Items, typename NameOf>
  void check_unique(const Items& items, std::string_view list, std::string_view member, NameOf name_of_item) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto is_same = [&](const auto& other) { return name_of_item(other) == name_of_item(items[i]); };
      if (name_of_item(items[i]).empty()) continue;
      if (std::find_if(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(i), is_same) !=
          items.begin() + static_cast<std::ptrdiff_t>(i)) {
        refuse(pointer_to(place_of(list, i), member), "is the name of another one already");
      }
    }
  }

  void check_names() {
    if (definition().blocks.empty()) refuse(pointer_to(at_, "blocks"), "must have at least one block");
    check_unique(definition().blocks, "blocks", "id", [](const Block& block) { return block.id; });
    check_unique(definition().inputs, "inputs", "name", [](const Input& input) { return input.name; });
  }

  void check_edges() {
    plan_.incoming.resize(definition().blocks.size());
    const auto& edges = definition().edges;
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const auto at = place_of("edges", i);
      const auto from = plan_.index_of(edges[i].from);
      const auto to = plan_.index_of(edges[i].to);
      if (!from && !edges[i].from.empty()) refuse(pointer_to(at, "from"), "names no block: \"" + edges[i].from + "\"");
      if (!to && !edges[i].to.empty()) refuse(pointer_to(at, "to"), "names no block: \"" + edges[i].to + "\"");
      if (!from || !to) continue;
      plan_.incoming[*to].push_back(i);
      const bool is_condition = definition().blocks[*from].is_condition();
      if (is_condition && !edges[i].when) {
        refuse(pointer_to(at, "when"), "is required: block \"" + edges[i].from + "\" is a condition");
      }
      if (!is_condition && edges[i].when) {
        refuse(pointer_to(at, "when"), "is for edges from a condition, and block \"" + edges[i].from + "\" is none");
      }
      for (std::size_t other = 0; other < i; ++other) {
        if (edges[other].from == edges[i].from && edges[other].to == edges[i].to &&
            edges[other].when == edges[i].when) {
          refuse(at, "is there already");
          break;
        }
      }
    }
  }

  // As the definition has them, but for those that must wait.
  void find_order() {
    const auto count = definition().blocks.size();
    std::vector<bool> placed(count);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t block = 0; block < count && !moved; ++block) {
        if (placed[block] || !std::ranges::all_of(plan_.incoming[block], [&](std::size_t edge) {
              return placed[*plan_.index_of(definition().edges[edge].from)];
            })) {
          continue;
        }
        placed[block] = true;
        plan_.order.push_back(block);
        moved = true;
      }
    }
    if (plan_.order.size() == count) return;
    refuse(pointer_to(at_, "edges"), "go in a circle, so none of these blocks could begin: " + circle(placed));
  }

  // Going back from a block that was not placed, along those that were not, comes round at last.
  std::string circle(const std::vector<bool>& placed) const {
    std::vector<std::size_t> way;
    auto block = static_cast<std::size_t>(std::ranges::find(placed, false) - placed.begin());
    while (std::ranges::find(way, block) == way.end()) {
      way.push_back(block);
      for (const auto edge : plan_.incoming[block]) {
        const auto before = *plan_.index_of(definition().edges[edge].from);
        if (placed[before]) continue;
        block = before;
        break;
      }
    }
    way.push_back(block);
    way.erase(way.begin(), std::ranges::find(way, block));
    std::string out;
    for (auto at = way.rbegin(); at != way.rend(); ++at) {
      out += (out.empty() ? "" : " → ") + definition().blocks[*at].id;
    }
    return out;
  }

  void check_templates() {
    const auto count = definition().blocks.size();
    std::vector<std::vector<bool>> before(count, std::vector<bool>(count));  // [a][b]: b comes before a, for sure
    for (const auto block : plan_.order) {
      for (const auto edge : plan_.incoming[block]) {
        const auto from = *plan_.index_of(definition().edges[edge].from);
        before[block][from] = true;
        for (std::size_t other = 0; other < count; ++other) {
          if (before[from][other]) before[block][other] = true;
        }
      }
    }
    for (std::size_t block = 0; block < count; ++block) {
      each_template(definition().blocks[block], [&](const std::string& inner, const Template& words) {
        check_places(words, place_of("blocks", block) + inner, &before[block]);
      });
    }
    for (const auto& [name, words] : definition().outputs) {
      check_places(words, pointer_to(pointer_to(at_, "outputs"), name), nullptr);
    }
  }

  // `before` null: all blocks are.
  void check_places(const Template& words, const std::string& at, const std::vector<bool>* before) {
    words.each_place([&](const Place& place) {
      if (faults_.has_more()) return;
      const auto named = "has {{" + text_of(place) + "}}, ";
      if (const auto* input = std::get_if<InputPlace>(&place)) {
        if (std::ranges::find(definition().inputs, input->name, &Input::name) == definition().inputs.end()) {
          refuse(at, named + "and there is no such input");
        }
        return;
      }
      const auto block = plan_.index_of(std::get<BlockPlace>(place).block);
      if (!block) return refuse(at, named + "and there is no such block");
      if (before != nullptr && !(*before)[*block]) refuse(at, named + "and no edges lead from that block to this one");
    });
  }

  Plan& plan_;
  const std::string at_;
  Faults& faults_;
};

}  // namespace

std::optional<std::size_t> Plan::index_of(std::string_view block) const {
  const auto found = std::ranges::find(definition.blocks, block, &Block::id);
  if (found == definition.blocks.end()) return std::nullopt;
  return static_cast<std::size_t>(found - definition.blocks.begin());
}

std::optional<Plan> make_plan(json::Value definition, const std::string& at, model::FieldErrors& faults) {
  Faults found;
  Plan plan;
  plan.definition = read_definition(definition, at, found);
  if (found.empty()) Check(plan, at, found).look();
  if (found.empty()) return plan;
  faults.append(std::move(found));
  return std::nullopt;
}

Result<Plan> plan_of(std::string_view definition) {
  const auto document = json::Document::parse(definition);
  if (!document) return Error{ErrorKind::corrupt, "a kept definition is no JSON"};
  Faults faults;
  auto plan = make_plan(document.value().root(), "", faults);
  if (plan) return *std::move(plan);
  return Error{ErrorKind::corrupt, "a kept definition is wrong: " + faults[0].pointer + " " + faults[0].message};
}

std::optional<std::string> read_inputs(const Plan& plan, json::Value given, const std::string& at,
                                       model::FieldErrors& faults) {
  std::vector<std::string_view> known;
  for (const auto& input : plan.definition.inputs) known.emplace_back(input.name);
  const auto before = faults.size();
  if (given.kind() != json::Kind::object) {
    faults.push_back({at, "must be an object"});
    return std::nullopt;
  }
  if (known.empty() && given.size() > 0) faults.push_back({at, "must be empty: the workflow has no inputs"});
  const Members members(given, at, known, faults);
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  for (const auto& input : plan.definition.inputs) {
    if (const auto value = members.value(input.name)) {
      if (!is_of_type(*value, input.type))
        members.refuse(input.name, "must be of type " + std::string(name_of(input.type)));
      writer.key(input.name).raw(value->to_text());
    } else if (input.fallback) {
      writer.key(input.name).raw(*input.fallback);
    } else if (input.required) {
      members.refuse(input.name, "is required");
    }
  }
  writer.end_object();
  if (out.size() > limits::workflow_inputs_bytes_max) {
    faults.push_back({at, "must have at most " + std::to_string(limits::workflow_inputs_bytes_max) + " bytes"});
  }
  if (faults.size() > before) return std::nullopt;
  return out;
}

}  // namespace sluice::flow
