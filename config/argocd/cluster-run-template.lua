-- The health of a ClusterRunTemplate or ClusterRunProfile for Argo CD: Healthy if Runnables can use it.
local status = obj.status or {}
local generation = obj.metadata.generation or 0
if (status.observedGeneration or -1) < generation then
  return { status = "Progressing", message = "Waiting for the controller to reconcile it" }
end
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Accepted" then
    if condition.status == "True" then
      return { status = "Healthy", message = condition.message }
    end
    return { status = "Degraded", message = condition.message }
  end
end
return { status = "Progressing", message = "Waiting for the controller to reconcile it" }
