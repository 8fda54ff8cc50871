// Looks an unknown key up: in the table of counterparts, in other sections, and among similar names.
#include "bind/hints.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "bind/counterparts.h"
#include "bind/tables.h"
#include "support/text.h"

namespace headwright::bind {
namespace {

constexpr std::string_view kEncoder = "model.encoder";

bool holds(std::span<const std::string> known, std::string_view key) {
  return std::ranges::find(known, key) != known.end();
}

/// "mask: causal" -> "mask"
std::string_view key_of(std::string_view ours) { return ours.substr(0, ours.find(':')); }

bool is_below(std::string_view path, std::string_view above) {
  return above.empty() ? !path.empty()
                       : path.size() > above.size() && path.starts_with(above) && path[above.size()] == '.';
}

/// The path as the tables write it: the name of a block is NAME, entries of a list are their list.
std::string generic(const std::string& path) {
  std::vector<std::string> parts;
  for (auto& part : support::split(path, '.')) {
    const bool index = std::ranges::all_of(part, [](unsigned char c) { return std::isdigit(c) != 0; });
    if (!parts.empty() && parts.back() == "blocks") part = "NAME";
    else if (index) continue;
    parts.push_back(std::move(part));
  }
  return support::join(parts, ".");
}

/// The component that a path leads into; empty = it leads to a section of the framework.
std::string_view component_at(const std::string& here) {
  struct Slot {
    std::string_view key, place;
  };
  static constexpr std::array kSlots{Slot{"attention", place::kAttention},
                                     Slot{"cross_attention", place::kAttention},
                                     Slot{"feed_forward", place::kFeedForward},
                                     Slot{"norm", place::kNorm},
                                     Slot{"final_norm", place::kNorm},
                                     Slot{"output_norm", place::kNorm},
                                     Slot{"residual_norm", place::kNorm},
                                     Slot{"position", place::kPosition},
                                     Slot{"mask", "mask"},
                                     Slot{"modifiers", "modifiers"}};
  std::string_view component;
  for (const auto& part : support::split(here, '.')) {
    const auto slot = std::ranges::find(kSlots, part, &Slot::key);
    if (slot != kSlots.end()) component = slot->place;
  }
  return component;
}

/// Where a key is unknown, as the table of counterparts names places. An encoder repeats sections of the model.
std::string place_of(const std::string& here) {
  if (const auto component = component_at(here); !component.empty()) return std::string(component);
  if (here == kEncoder) return "model";
  return is_below(here, kEncoder) ? "model" + here.substr(kEncoder.size()) : here;
}

/// A place of the table, as a reader at `here` finds it.
std::string shown(std::string_view at, const std::string& here) {
  if (at.empty()) return "the top level";
  const bool of_a_block = at == place::kAttention || at == place::kFeedForward || at == place::kNorm;
  const bool in_a_block = here.find(".blocks.NAME") != std::string::npos;
  if (of_a_block && in_a_block) return std::string(at);
  if (of_a_block) return std::string(place::kBlock) + '.' + std::string(at);
  if (here.starts_with(kEncoder) && at.starts_with("model") && at != place::kHead) {
    return std::string(kEncoder) + std::string(at.substr(std::string_view("model").size()));
  }
  return std::string(at);
}

/// A section that a reader at `here` may have had in mind: around it, within it, beside a section of the top level, or
/// the run, whose keys say themselves what they are of.
bool is_related(std::string_view section, const std::string& here) {
  const bool beside =
      !here.empty() && here.find('.') == std::string::npos && section.find('.') == std::string_view::npos;
  return section.empty() || is_below(here, section) || is_below(section, here) || beside || section == place::kRun;
}

/// Where a key of the framework stands, other than here. An encoder repeats keys of the model: it is named only where
/// the reader is in one, or where no other place knows the key.
std::vector<std::string> sections_with(std::string_view key, const std::string& here) {
  std::vector<std::string> sections, of_encoder;
  for (const Table* table : all_tables()) {
    if (table->name == here || !holds(table->keys(), key) || !is_related(table->name, here)) continue;
    auto& found = table->name.starts_with(kEncoder) ? of_encoder : sections;
    found.push_back(table->name.empty() ? "the top level" : std::string(table->name));
  }
  return sections.empty() || (here.starts_with(kEncoder) && !of_encoder.empty()) ? of_encoder : sections;
}

std::string belongs(std::string_view ours, const std::vector<std::string>& sections) {
  const auto where = " under " + support::join(sections, " or ");
  const auto text = std::string(ours);
  return key_of(ours) == ours ? "'" + text + "' belongs" + where : "write " + text + where;
}

Hint of_counterpart_here(const Counterpart& counterpart) {
  const std::string ours(counterpart.ours);
  return key_of(ours) == ours ? Hint{.suggestion = ours} : Hint{.remark = "write " + ours};
}

Hint of_counterpart_elsewhere(const Counterpart& counterpart, const std::string& here) {
  if (counterpart.at == place::kNowhere) return {.remark = "has no counterpart: " + std::string(counterpart.ours)};
  if (counterpart.at != place::kWhereKnown) return {.remark = belongs(counterpart.ours, {shown(counterpart.at, here)})};
  const auto sections = sections_with(key_of(counterpart.ours), here);
  return sections.empty() ? Hint{} : Hint{.remark = belongs(counterpart.ours, sections)};
}

bool is_empty(const Hint& hint) { return hint.suggestion.empty() && hint.remark.empty(); }

/// What another library's key is here; no value = it is no such key, an empty hint = one that has no meaning here.
std::optional<Hint> hint_of_counterpart(const std::string& key, std::span<const std::string> known,
                                        const std::string& here) {
  const auto at = place_of(here);
  bool means_something_here = false;
  for (const auto& row : counterparts()) {
    if (row.theirs != key || (row.at != at && row.at != place::kWhereKnown)) continue;
    if (holds(known, key_of(row.ours))) return of_counterpart_here(row);
    means_something_here = means_something_here || row.at == at;
  }
  if (means_something_here) return Hint{};
  for (const auto& row : counterparts()) {
    if (row.theirs != key || row.only_there) continue;
    if (auto hint = of_counterpart_elsewhere(row, here); !is_empty(hint)) return hint;
  }
  return std::nullopt;
}

/// The closest key of the sections around this one and directly within it.
std::string misspelt_elsewhere(const std::string& key, const std::string& here) {
  std::vector<std::string> keys;
  for (const Table* table : all_tables()) {
    const auto blocks = table->name == place::kBlock && here == place::kModel;
    const auto child = is_below(table->name, here) &&
                       table->name.find('.', here.empty() ? 0 : here.size() + 1) == std::string_view::npos;
    if (is_below(here, table->name) || child || blocks) std::ranges::copy(table->keys(), std::back_inserter(keys));
  }
  const auto near = support::nearest(key, keys);
  const bool one_slip = near && near->size() <= key.size() + 1 && key.size() <= near->size() + 1;
  return one_slip ? belongs(*near, sections_with(*near, here)) : "";
}

}  // namespace

Hint hint_for(const std::string& key, std::span<const std::string> known, const std::string& path) {
  const auto here = generic(path);
  if (auto hint = hint_of_counterpart(key, known, here)) return *hint;
  if (const auto sections = sections_with(key, here); !sections.empty()) return {.remark = belongs(key, sections)};
  if (auto near = support::nearest(key, known)) return {.suggestion = *near};
  return {.remark = misspelt_elsewhere(key, here)};
}

}  // namespace headwright::bind
