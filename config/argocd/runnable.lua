-- The health of a Runnable for Argo CD. A change that the controller has not reconciled yet is
-- Progressing, so that an old success never passes for a new one.
local status = obj.status or {}
local generation = obj.metadata.generation or 0
if (status.observedGeneration or -1) < generation then
  return { status = "Progressing", message = "Waiting for the controller to reconcile it" }
end

local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end

local stalled = conditions["Stalled"]
if stalled ~= nil and stalled.status == "True" then
  return { status = "Degraded", message = stalled.message }
end
local ready = conditions["Ready"]
local reconciling = conditions["Reconciling"]
if ready ~= nil and ready.status == "True" and reconciling ~= nil and reconciling.status == "True" then
  return { status = "Progressing", message = reconciling.message }
end
if ready ~= nil and ready.status == "True" then
  return { status = "Healthy", message = "The run for the current inputs succeeded" }
end
-- Only a user ends this, who resumes the Runnable or approves the run.
if ready ~= nil and (ready.reason == "Suspended" or ready.reason == "ApprovalRequired") then
  return { status = "Suspended", message = ready.message }
end
local message = "The run for the current inputs is still running"
if ready ~= nil and ready.message ~= nil and ready.message ~= "" then
  message = ready.message
end
return { status = "Progressing", message = message }
