{{/* What tells the pods of this release from others. */}}
{{- define "antiphon.selector" -}}
app.kubernetes.io/name: antiphon
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "antiphon.metadata" -}}
name: {{ .Release.Name }}
labels:
  {{- include "antiphon.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
