{{- /* Names and labels that more than one template needs. */ -}}

{{- define "tidegate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "tidegate.operator" -}}
{{- printf "%s-operator" (include "tidegate.fullname" .) -}}
{{- end -}}

{{- /* Of objects without a namespace: two releases of one name may stand in two namespaces. */ -}}
{{- define "tidegate.clusterName" -}}
{{- printf "%s:%s" .Release.Namespace (include "tidegate.operator" .) -}}
{{- end -}}

{{- define "tidegate.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "tidegate.operator" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed where serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "tidegate.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{- /* What pods are chosen by; never changes. Call with the root and the name of the part. */ -}}
{{- define "tidegate.selector" -}}
app.kubernetes.io/name: {{ .part }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}

{{- define "tidegate.labels" -}}
{{ include "tidegate.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: tidegate
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "tidegate.operatorLabels" -}}
{{ include "tidegate.labels" (dict "root" . "part" "tidegate-operator") }}
{{- end -}}

{{- define "tidegate.operatorSelector" -}}
{{ include "tidegate.selector" (dict "root" . "part" "tidegate-operator") }}
{{- end -}}
