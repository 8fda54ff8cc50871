// Gives whatever a plugin throws a type and an owner.
#include "registry/guarded.h"

#include <c10/util/Exception.h>

#include <new>

#include "headwright/errors.h"
#include "support/system.h"

namespace headwright::registry {
namespace {

/// Says already whose it is: thrown by the component of another plugin inside.
class Blamed final : public PluginError {
 public:
  using PluginError::PluginError;
};

}  // namespace

void blame_plugin(const std::string& where) {
  try {
    throw;
  } catch (const Blamed&) {
    throw;
  } catch (const ResourceError&) {
    throw;
  } catch (const c10::OutOfMemoryError& failure) {
    throw ResourceError(where + ": " + failure.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    throw ResourceError(where + ": out of memory");
  } catch (const c10::Error& failure) {
    const std::string text = failure.what_without_backtrace();
    if (support::means_out_of_memory(text)) throw ResourceError(where + ": " + text);
    throw Blamed(where + ": " + text);
  } catch (const std::exception& failure) {
    throw Blamed(where + ": " + failure.what());
  } catch (...) {
    throw Blamed(where + ": threw something that is no std::exception");
  }
}

}  // namespace headwright::registry
