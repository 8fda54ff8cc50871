// Visits every config at every size, measures in turns, and checks each baseline's result against the layer's.
#include "bench/bench.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <map>
#include <memory>

#include "bench/baseline.h"
#include "bench/sizes.h"
#include "bind/walk.h"
#include "model/build.h"
#include "run/forward.h"

namespace headwright::bench {
namespace {

/// A side among the turns.
struct Entry {
  Work work;
  Needs forward_needs, backward_needs;
  std::size_t forward = 0;
  std::optional<std::size_t> backward;
};

Entry enter(Turns& turns, Work work, bool backward) {
  Entry entry{.forward_needs = needs_of_forward(work)};
  entry.forward = turns.add(work, Turns::Pass::forward);
  if (backward) {
    entry.backward_needs = needs_of_backward(work);
    entry.backward = turns.add(work, Turns::Pass::backward);
  }
  entry.work = std::move(work);
  return entry;
}

BenchPass pass_of(const std::vector<double>& seconds, const Needs& needs, const Machine& machine) {
  BenchPass pass{.seconds = spread_of(seconds), .flops = needs.flops, .peak_extra_bytes = needs.peak_extra_bytes};
  pass.predicted = predicted_seconds(needs.operations, machine);
  pass.share_of_gemm = static_cast<double>(needs.flops) / machine.flops_per_second / pass.seconds.median;
  return pass;
}

BenchSide side_of(const Turns& turns, const Entry& entry, const Machine& machine) {
  BenchSide side{.forward = pass_of(turns.seconds(entry.forward), entry.forward_needs, machine)};
  if (entry.backward) side.backward = pass_of(turns.seconds(*entry.backward), entry.backward_needs, machine);
  return side;
}

/// Of one round each, so that what slows a round slows both.
double median_ratio(const std::vector<double>& above, const std::vector<double>& below) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < above.size(); ++i) ratios.push_back(above[i] / below[i]);
  return median_of(ratios);
}

/// One config at one point.
struct Candidate {
  BenchRun run;
  Entry model;
  std::optional<Entry> core, direct;
  MachineTurns machine;
};

std::string kernels_text(const model::Model& model) {
  std::string text;
  std::vector<std::string> seen;
  for (const auto& [path, choice] : model::kernels_of(model)) {
    if (std::ranges::find(seen, choice.effective) != seen.end()) continue;
    seen.push_back(choice.effective);
    text += (text.empty() ? "" : "+") + choice.effective;
  }
  return text;
}

std::string why_no_gradient(const bind::Plan& plan) {
  for (const auto& place : bind::walk(plan.model)) {
    if (place.claims != nullptr && !place.claims->differentiable) {
      return "'" + place.component->variant->name + "' claims no gradient";
    }
  }
  return "";
}

class Benchmark {
 public:
  explicit Benchmark(const BenchOptions& options) : options_(options), points_(combinations(options.axes)) {}

  Bench run() {
    result_.repeats = options_.repeats;
    result_.warm_up = options_.warm_up;
    for (const auto& point : points_) measure(point);
    std::ranges::stable_sort(order_, {}, &Place::config);
    for (const auto& place : order_) result_.runs.push_back(std::move(runs_[place.run]));
    result_.machine = result_.runs.front().machine;
    return std::move(result_);
  }

 private:
  struct Place {
    std::size_t config, run;
  };
  struct Built {
    std::vector<std::string> overrides;
    run::Session session;  // holds the plugins and the resolved config
    std::shared_ptr<model::Model> model;
  };

  void measure(const BenchPoint& point) {
    Turns turns;
    machines_.clear();
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < options_.configs.size(); ++i) {
      tell(point, options_.configs[i].config.stem().string());
      candidates.push_back(candidate(i, point, turns));
    }
    for (int round = -options_.warm_up; round < options_.repeats; ++round) {
      tell(point, round < 0 ? "warm-up" : "round " + std::to_string(round + 1));
      turns.round(round % 2 == 0, round >= 0);
      ++done_;
    }
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      order_.push_back({i, runs_.size()});
      runs_.push_back(finished(std::move(candidates[i]), turns));
    }
  }

  /// The built model is kept while only sizes change.
  Built& built_for(std::size_t config, const BenchPoint& point) {
    const auto overrides = overrides_of(point);
    auto& built = built_[config];
    if (built.model && built.overrides == overrides) return built;
    built.model.reset();  // before the next one takes memory
    built = {overrides, open_at(options_.configs[config], point), nullptr};
    set_up(built.session.plan);
    built.model = model::build(built.session.plan);
    return built;
  }

  /// Threads and memory limits belong to the process.
  void set_up(const bind::Plan& plan) {
    if (!set_up_) {
      run::set_up_process(plan);
      set_up_ = true;
      threads_ = plan.run.threads;
      result_.threads = at::get_num_threads();
    }
    if (plan.run.threads != threads_) {
      throw InputError("'" + plan.name + "': run.threads differs from the first config's; give --threads N for all");
    }
  }

  Candidate candidate(std::size_t config, const BenchPoint& point, Turns& turns) {
    auto& built = built_for(config, point);
    auto plan = built.session.plan;
    take_sizes(plan, point);
    auto inputs = run::make_inputs(plan);
    Candidate candidate;
    auto& run = candidate.run;
    run = {.config = options_.configs[config].config.string(),
           .name = plan.name,
           .batch_size = inputs.x.size(0),
           .seq_len = inputs.x.size(1),
           .dtype = plan.run.dtype,
           .device = inputs.x.device().str(),
           .kernel = kernels_text(*built.model)};
    std::ranges::copy_if(point, std::back_inserter(run.varied), [](const auto& one) { return !is_size(one.first); });
    candidate.machine = machine_for(turns, model::dtype_from(plan.run.dtype), inputs.x.device());
    if (!options_.baseline.empty()) compare(candidate, plan, *built.model, inputs, turns);
    const auto work = model_work(built.model, inputs);
    if (options_.backward) run.no_backward = why_no_gradient(plan);
    if (options_.backward && run.no_backward.empty() && !has_backward(work)) run.no_backward = "no gradient reaches it";
    candidate.model = enter(turns, work, options_.backward && run.no_backward.empty());
    return candidate;
  }

  static Work model_work(const std::shared_ptr<model::Model>& model, Inputs inputs) {
    Work work;
    if (inputs.x.is_floating_point()) work.leaves.push_back(inputs.x = inputs.x.detach().requires_grad_());
    for (const auto& parameter : model->parameters()) work.leaves.push_back(parameter);
    work.forward = [model, inputs = std::move(inputs)] { return model->forward(inputs); };
    return work;
  }

  void compare(Candidate& candidate, const bind::Plan& plan, model::Model& model, const Inputs& inputs, Turns& turns) {
    auto& run = candidate.run;
    const auto call = first_core_call(plan, model, inputs);
    if (const auto* reason = std::get_if<Reason>(&call)) return void(run.no_baseline = *reason);
    const auto& core_call = std::get<CoreCall>(call);
    const auto direct = direct_work(options_.baseline, core_call);
    if (const auto* reason = std::get_if<Reason>(&direct)) return void(run.no_baseline = *reason);
    const auto& work = std::get<Work>(direct);
    BenchBaseline baseline{.name = options_.baseline,
                           .layer = core_call.layer,
                           .mask = core_call.scoring.mask.to_string(),
                           .kernel = choose_kernel(core_call.scoring).effective,
                           .q_shape = core_call.q.sizes().vec(),
                           .k_shape = core_call.k.sizes().vec()};
    {
      const at::NoGradGuard no_grad;
      baseline.difference = relative_difference(work.forward(), core_call.y);
    }
    if (!(baseline.difference <= tolerance_of(core_call.y.scalar_type()))) {
      run.no_baseline = "its result differs by " + std::to_string(baseline.difference) + " of the largest value";
      return;
    }
    candidate.core = enter(turns, core_work(core_call), options_.backward);
    candidate.direct = enter(turns, work, options_.backward);
    run.baseline = std::move(baseline);
  }

  MachineTurns machine_for(Turns& turns, at::ScalarType dtype, at::Device device) {
    const auto key = model::dtype_name(dtype) + device.str();
    if (const auto found = machines_.find(key); found != machines_.end()) return found->second;
    if (!works_.contains(key)) works_.emplace(key, machine_works(dtype, device));
    return machines_[key] = enter(turns, works_.at(key));
  }

  static BenchRun finished(Candidate candidate, const Turns& turns) {
    auto& run = candidate.run;
    const auto machine = run.machine = machine_of(turns, candidate.machine);
    run.model = side_of(turns, candidate.model, machine);
    run.uncounted = candidate.model.forward_needs.uncounted;
    for (const auto& name : candidate.model.backward_needs.uncounted) {
      if (std::ranges::find(run.uncounted, name) == run.uncounted.end()) run.uncounted.push_back(name);
    }
    if (!run.baseline || !candidate.core || !candidate.direct) return std::move(run);
    auto& baseline = *run.baseline;
    const auto &core = *candidate.core, &direct = *candidate.direct;
    baseline.core = side_of(turns, core, machine);
    baseline.direct = side_of(turns, direct, machine);
    baseline.forward_speedup = median_ratio(turns.seconds(direct.forward), turns.seconds(core.forward));
    if (core.backward && direct.backward) {
      baseline.backward_speedup = median_ratio(turns.seconds(*direct.backward), turns.seconds(*core.backward));
    }
    return std::move(run);
  }

  void tell(const BenchPoint& point, const std::string& step) const {
    if (!options_.progress) return;
    std::string what;
    for (const auto& [name, value] : point) what += name + " " + value + ", ";
    const auto rounds = static_cast<std::size_t>(options_.warm_up) + static_cast<std::size_t>(options_.repeats);
    options_.progress(what + step, done_, rounds * points_.size());
  }

  const BenchOptions& options_;
  const std::vector<BenchPoint> points_;
  Bench result_;
  std::vector<BenchRun> runs_;
  std::vector<Place> order_;
  std::map<std::size_t, Built> built_;
  std::map<std::string, MachineWorks> works_;     // by dtype and device
  std::map<std::string, MachineTurns> machines_;  // of this point
  std::size_t done_ = 0;
  bool set_up_ = false;
  std::optional<std::int64_t> threads_;
};

}  // namespace

Bench bench(const BenchOptions& options) { return Benchmark(options).run(); }

}  // namespace headwright::bench
