{{- /* Name of the controller, of its account and of its roles. */}}
{{- define "cartouche.name" -}}
{{- .Values.fullnameOverride | default "cartouche-controller" -}}
{{- end }}

{{- /* Labels of all objects. */}}
{{- define "cartouche.labels" -}}
app.kubernetes.io/part-of: cartouche
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Image by digest, or else by tag. */}}
{{- define "cartouche.image" -}}
{{- $repository := required "image.repository is required: build the image, push it to your registry, and set its repository" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end }}

{{- /* Arguments of the controller. */}}
{{- define "cartouche.args" -}}
{{- range $flag, $value := .Values.flags }}
{{- if kindIs "bool" $value }}
{{- if $value }}
- {{ printf "--%s" $flag | quote }}
{{- end }}
{{- else if kindIs "string" $value }}
- {{ printf "--%s=%s" $flag $value | quote }}
{{- else }}
- {{ printf "--%s=%d" $flag (int64 $value) | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Environment of the controller. */}}
{{- define "cartouche.env" -}}
{{- if ne .Values.identity.mode "impersonate" }}
- name: CARTOUCHE_IDENTITY
  value: {{ .Values.identity.mode | quote }}
{{- end }}
{{- with .Values.namespace }}
- name: CARTOUCHE_NAMESPACE
  value: {{ . | quote }}
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Values that exclude each other. */}}
{{- define "cartouche.check" -}}
{{- if .Values.identity.namespaces }}
{{- if ne .Values.identity.mode "impersonate" }}
{{- fail "identity.namespaces limits impersonation: it needs identity.mode=impersonate" }}
{{- end }}
{{- if .Values.namespace }}
{{- fail "namespace already limits impersonation to one namespace: leave identity.namespaces empty" }}
{{- end }}
{{- end }}
{{- end }}
